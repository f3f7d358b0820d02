"""LangChain's key-value store of bytes on memwarden: :class:`MemwardenByteStore`."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator, Sequence

from langchain_core.stores import ByteStore

from memwarden import clock
from memwarden.errors import InvalidInput
from memwarden.stores.shared.items import DropItem, ItemChange, PutItem, StoredItem, check_name, require_items
from memwarden.surfaces.integrations.binding import AnyWarden, StoreBinding

# The longest value: as text it is a third longer, and has to stay an item that every surface can read.
MAX_BYTES = 10_000_000
NAMESPACE = ("langchain", "bytes")


class MemwardenByteStore(ByteStore):
    """A durable ``BaseStore[str, bytes]`` in a warden's namespace, shared by processes.

    For what LangChain keeps by key: embeddings that are cached, documents of a retriever, files.

    >>> store = MemwardenByteStore(warden.scope(user="ana"), namespace=("embeddings",))
    >>> store.mset([("key", b"value")])

    Args:
        warden: as for :class:`memwarden.surfaces.integrations.langchain.MemwardenRetriever`.
        namespace: labels that keep several such stores apart, without ``.`` and not empty. They are those of
            LangGraph's store, which finds each value there as ``{"bytes": <base64>}``.

    Raises:
        InvalidInput: (a ValueError) for a namespace that is none, a key that is no text or longer than 1,000 bytes, a
            value that is not bytes or longer than 10 MB. Then nothing of the call is written.
        StoreError: when the storage refuses.
    """

    def __init__(self, warden: AnyWarden, *, namespace: Sequence[str] = NAMESPACE) -> None:
        self._bound = StoreBinding(warden)
        self._items = require_items(self._bound.runtime.store)
        self._path = _path(namespace)

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of keys, in their order; None where there is none."""
        return self._bound.run(self._get(keys))

    async def amget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Return the values of keys, in their order; None where there is none."""
        return await self._bound.wait(self._get(keys))

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Write values, all or none; a later value of the same key wins."""
        self._bound.run(self._write(self._puts(key_value_pairs)))

    async def amset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Write values, all or none; a later value of the same key wins."""
        await self._bound.wait(self._write(self._puts(key_value_pairs)))

    def mdelete(self, keys: Sequence[str]) -> None:
        """Remove keys; missing keys are no error."""
        self._bound.run(self._write([DropItem(self._path, _key(key)) for key in dict.fromkeys(keys)]))

    async def amdelete(self, keys: Sequence[str]) -> None:
        """Remove keys; missing keys are no error."""
        await self._bound.wait(self._write([DropItem(self._path, _key(key)) for key in dict.fromkeys(keys)]))

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Yield the keys with a prefix, sorted, as they were when the iteration began."""
        yield from self._bound.run(self._keys(prefix))

    async def ayield_keys(self, *, prefix: str | None = None) -> AsyncIterator[str]:
        """Yield the keys with a prefix, sorted, as they were when the iteration began."""
        for key in await self._bound.wait(self._keys(prefix)):
            yield key

    async def _get(self, keys: Sequence[str]) -> list[bytes | None]:
        places = [(self._path, _key(key)) for key in keys]
        found = await self._items.get(self._bound.who.namespace, list(dict.fromkeys(places))) if places else {}
        return [_bytes(found[place]) if place in found else None for place in places]

    async def _keys(self, prefix: str | None) -> list[str]:
        return await self._items.keys(self._bound.who.namespace, self._path, _key(prefix or ""))

    async def _write(self, changes: Sequence[ItemChange]) -> None:
        await self._items.write(self._bound.who.namespace, changes)

    def _puts(self, pairs: Sequence[tuple[str, bytes]]) -> list[ItemChange]:
        at = clock.microseconds(clock.now())
        # Of several values of a key the last stays, as if they had been written in sequence.
        last = {_key(key): _text(value) for key, value in pairs}
        return [PutItem(StoredItem(self._path, key, text, at, at)) for key, text in last.items()]


def _path(labels: Sequence[str]) -> str:
    given = [] if isinstance(labels, str) else list(labels)
    if not given or not all(isinstance(item, str) and item and not {".", "\0"} & set(item) for item in given):
        raise InvalidInput(
            f"a namespace is a sequence of labels that are not empty and hold no '.', not {labels!r:.80}"
        )
    return check_name(".".join(given), "a namespace")


def _key(key: str) -> str:
    if not isinstance(key, str):
        raise InvalidInput(f"a key is a text, not {key!r:.80}")
    return check_name(key, "a key")


def _text(value: bytes) -> str:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidInput(f"a value is bytes, not {value!r:.80}")
    if len(value) > MAX_BYTES:
        raise InvalidInput(f"a value has at most {MAX_BYTES:,} bytes, not {len(value):,}")
    # JSON has no bytes. Base64 costs a third, and every surface can still read the item.
    return json.dumps({"bytes": base64.b64encode(value).decode()})


def _bytes(item: StoredItem) -> bytes | None:
    value = json.loads(item.value).get("bytes")
    return base64.b64decode(value) if isinstance(value, str) else None
