"""Memories into a request, as the settings say."""

from __future__ import annotations

from functools import partial
from typing import Any

from memwarden.conversation.formats import MessageFormat, Request
from memwarden.conversation.own_words import without_memories
from memwarden.conversation.prompt_cache import delta_places
from memwarden.conversation.prompt_cache_store import PromptCacheStore
from memwarden.conversation.settings import ChatSettings
from memwarden.records import ContextBlock, Scope
from memwarden.runtime import Runtime


async def inject_memories(
    parts: Runtime,
    who: Scope,
    form: MessageFormat,
    request: Request,
    block: ContextBlock,
    settings: ChatSettings,
    *,
    renew: bool = False,
) -> Any:
    """Return a new request with memories in it. renew: with ``cache_stable``, make all of them anew.

    Blocks of memories that earlier turns put in, and that the application kept, are taken out first; what it put in
    itself, such as the context of a task, stays. Raises InvalidInput for a request that is not of the form, StoreError.
    """
    bare = form.clean_texts(request, partial(without_memories, template=settings.template))
    if settings.memory_injection_mode != "cache_stable":
        return form.with_block(bare, block.text, settings.memory_injection_mode)
    said = form.read_turns(bare)
    stable = await PromptCacheStore(parts, who).at(said, block, settings, renew=renew)
    return bare if stable is None else form.with_placed(bare, stable.snapshot.text, delta_places(stable, said))
