"""Finds the other parts of texts that are stored in parts, so that a change reaches all of them."""

from __future__ import annotations

from collections.abc import Iterable

from memwarden.filters import Condition
from memwarden.records import PART_OF, Memory, MemoryState, Namespace, read_part
from memwarden.stores.protocol import StoreReader


async def find_other_parts(
    store: StoreReader, namespace: Namespace, memories: Iterable[Memory], state: MemoryState = MemoryState.ACTIVE
) -> list[str]:
    """Return the ids of the parts in a state that belong to texts of which some parts are given, in order of writing.

    The given parts are left out, and so are memories of other channels and categories.
    """
    given = {memory.id: memory for memory in memories}
    wholes = {part.whole: memory for memory in given.values() if (part := read_part(memory.tags)) is not None}
    parts: list[str] = []
    for whole, memory in wholes.items():
        where = (
            Condition("tags", "$in", (f"{PART_OF}{whole}",)),
            Condition("channel", "$eq", memory.channel),
            Condition("category", "$eq", memory.category),
        )
        parts += [item for item in await store.find_ids(namespace, where, state=state) if item not in given]
    return parts
