"""What was found, in the words of a chat's templates."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from memwarden import clock
from memwarden.conversation.settings import ChatSettings
from memwarden.recall.answer.budget import pack
from memwarden.recall.answer.render import memories_block
from memwarden.records import ContextBlock, Cut
from memwarden.tokens import TokenCounter, estimate


def render(
    block: ContextBlock,
    settings: ChatSettings,
    *,
    without: Collection[str] = (),
    now: datetime | None = None,
    count: TokenCounter = estimate,
) -> ContextBlock:
    """Return a block with its memories in the words of the settings' templates, within their budget.

    A memory that does not fit is passed over, and named in ``cut``.

    Args:
        without: ids of memories that stand in the prompt already. now: what ages are counted to.
    """
    from memwarden.recall.answer.select import GATES  # numpy is loaded by now: there is a block

    moment = now or clock.now()
    packed = pack(
        (),
        [item for item in block.items if item.id not in without],
        most=len(block.items),
        budget=settings.max_memory_tokens,
        render=lambda items: memories_block(items, moment, settings.template),
        count=count,
    )
    dropped = [Cut(item.id, gate, item.score, GATES[gate]) for item, gate in packed.dropped]
    return ContextBlock(
        packed.text, packed.items, packed.tokens, settings.max_memory_tokens, block.rev, (*dropped, *block.cut)
    )
