"""Removal for good: what a namespace holds, the receipt of an erasure, and the proof of absence.

A receipt holds no words: counts, some ids of memories that memwarden made, and what is left to do where no store can
reach. Its digest shows whether it was changed since.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from memwarden.errors import InvalidInput, StoreUnavailable
from memwarden.records import Namespace

FORMAT = 1
# Maximum ids in a receipt.
MAX_SAMPLE = 20
_ID_LENGTH = 36
_MADE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Bytes of a file that are looked through at once.
_CHUNK = 1 << 20


class Holdings(NamedTuple):
    """Row counts of a namespace by table, with what lies beside its memories."""

    memories: int
    signals: int
    versions: int
    journal: int
    relations: int
    threads: int
    receipts: int
    events: int
    items: int
    item_vectors: int
    checkpoints: int
    checkpoint_blobs: int
    checkpoint_writes: int
    checkpoint_threads: int


class ErasableStore(Protocol):
    """The part of a store that erasing and verifying take."""

    @property
    def place(self) -> str:
        """Where the store is, as a URL without a login."""

    async def holdings(self, namespace: Namespace) -> Holdings:
        """Return the rows of a namespace by table."""

    async def namespaces(self) -> list[Namespace]:
        """Return every namespace that was ever written to."""

    def files(self) -> list[Path]:
        """Return the files that hold the store's bytes."""


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """What an erasure removed, when, and what is left to the operator.

    Attributes:
        tenant, path: the namespace. store: its store, without a login. engine: name and version.
        started_at, finished_at: UTC, ISO 8601; not finished: None, for a dry run and for an erasure that was broken
            off, which the same call brings to its end.
        sample: ids of some of the memories, to look for in the store's files.
        kinds: memories by channel, whatever their state. counts: rows by table.
        left_to_do: what holds copies where no store reaches: backups, replicas, logs.
        digest: SHA-256 over everything else.
    """

    tenant: str
    path: str
    store: str
    engine: str
    started_at: str
    finished_at: str | None
    kinds: Mapping[str, int]
    counts: Mapping[str, int]
    sample: tuple[str, ...] = ()
    left_to_do: tuple[str, ...] = ()
    digest: str = ""

    @property
    def namespace(self) -> Namespace:
        return Namespace(self.tenant, self.path)

    @property
    def total(self) -> int:
        """Rows of all tables."""
        return sum(self.counts.values())

    def seal(self) -> ErasureReceipt:
        """Return the receipt with its digest."""
        return replace(self, digest=_digest(self))

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read_receipt(text: str) -> ErasureReceipt:
    """Return the receipt that a text holds. Raises InvalidInput when it is none, or was changed."""
    try:
        said: dict[str, Any] = json.loads(text)
        if said.pop("format") != FORMAT:
            raise InvalidInput("the receipt is of another format; use the memwarden that wrote it, or a later one")
        receipt = ErasureReceipt(**{**said, "left_to_do": tuple(said["left_to_do"]), "sample": tuple(said["sample"])})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"this is no receipt of an erasure: {error!r:.200}") from None
    if receipt.digest != _digest(receipt):
        raise InvalidInput("the receipt was changed after it was written: its digest is not that of its content")
    return receipt


async def find_traces(store: ErasableStore, receipt: ErasureReceipt) -> list[str]:
    """Return everything that contradicts a receipt; nothing when the namespace is gone.

    Asks the store, and where it has files looks through their bytes for the sample of ids.
    """
    if receipt.store != store.place:
        return [f"the receipt is of {receipt.store}, and this is {store.place}; name the store that it is of"]
    if receipt.finished_at is None:
        return ["the erasure was not finished; repeat it"]
    held = await store.holdings(receipt.namespace)
    found = [f"{count:,} rows in {table}" for table, count in held._asdict().items() if count]
    if receipt.namespace in await store.namespaces():
        found.append(f"the namespace {receipt.namespace} is listed")
    if not found:
        found += [f"{file} still holds {name}" for file in store.files() for name in _find_in(file, receipt.sample)]
    return found


def choose_sample(ids: Sequence[str]) -> tuple[str, ...]:
    """Return some ids of memories, evenly chosen; only ids that memwarden made, since others may be words."""
    made = [item for item in ids if _MADE.fullmatch(item)]
    return tuple(made[:: max(1, -(-len(made) // MAX_SAMPLE))])


def _find_in(file: Path, wanted: Sequence[str]) -> list[str]:
    return [name for name in wanted if any(name.encode() in block for block in _blocks(file, _ID_LENGTH - 1))]


def _blocks(file: Path, overlap: int) -> Iterator[bytes]:
    """Yield a file in blocks that overlap, so that nothing is cut in two."""
    try:
        with file.open("rb") as opened:
            kept = b""
            while chunk := opened.read(_CHUNK):
                yield kept + chunk
                kept = (kept + chunk)[-overlap:]
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be read: {error.strerror or error}") from error


def _digest(receipt: ErasureReceipt) -> str:
    said = asdict(replace(receipt, digest=""))
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
