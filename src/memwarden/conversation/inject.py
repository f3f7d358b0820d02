"""Inserts memories into a request as the settings say."""

from __future__ import annotations

from functools import partial
from typing import Any

from memwarden.conversation.formats import MessageFormat, Request
from memwarden.conversation.prompt_cache import delta_places
from memwarden.conversation.prompt_cache_store import PromptCacheStore
from memwarden.conversation.settings import ChatSettings
from memwarden.records import ContextBlock, Scope
from memwarden.remember.ingest.intake import strip_whole_blocks
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
    """Return a new request with memories inserted.

    Blocks of memories that earlier turns inserted, and that the application kept, are removed first; the application's
    own blocks, such as a task's context, stay. Raises InvalidInput for a request of another form, StoreError.

    renew: with ``cache_stable``, make all blocks anew.
    """
    bare = form.clean_texts(request, partial(strip_whole_blocks, template=settings.template))
    if settings.memory_injection_mode != "cache_stable":
        return form.with_block(bare, block.text, settings.memory_injection_mode)
    said = form.read_turns(bare)
    stable = await PromptCacheStore(parts, who).at(said, block, settings, renew=renew)
    return bare if stable is None else form.with_placed(bare, stable.snapshot.text, delta_places(stable, said))
