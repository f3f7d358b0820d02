"""The bundle of a person: a zip that holds everything remembered of them, for any engine, and for their own eyes.

``pages.jsonl`` is lossless, a page of the namespace's history a line. ``memories.jsonl`` is what the person may read, a
memory a line. ``beside.jsonl``, where there is any, holds items and checkpoints. The manifest holds a checksum of each.
The same content gives the same bytes, from whatever engine.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from memwarden.errors import Conflict, InvalidInput, MemwardenError, NotFound, StoreCorrupt, StoreTooNew
from memwarden.records import MAX_OFFSET, Memory, Namespace, Signals, local_time
from memwarden.stores.jsonfile.folder import open_private, page_json, page_of
from memwarden.stores.protocol import Store
from memwarden.stores.shared.items import PutItem
from memwarden.stores.transfer.backup import CHUNK, MANIFEST, explain_os_errors, make_work_folder, publish
from memwarden.stores.transfer.beside import (
    check_beside,
    digest_beside,
    digest_line,
    keeps_checkpoints,
    keeps_items,
    parse_line,
    read_beside,
    write_beside,
)
from memwarden.stores.transfer.pages import MemoryRow, Page
from memwarden.text import TERMS_VERSION
from memwarden.text.signals import make_text_signals

# 2: with items and checkpoints. A bundle without any is written as 1, which earlier versions read.
FORMAT = 2
PAGES, READABLE, BESIDE = "pages.jsonl", "memories.jsonl", "beside.jsonl"
# Changes of a page, which is in memory whole, several times over: a text may be of 256 KB.
_PAGE = 100
# Bytes of a line. A page takes some 60 MB at most, a checkpoint what its program puts into it.
MAX_LINE = 512 * 1024**2
# Times that an export begins anew because somebody writes meanwhile.
_MAX_ATTEMPTS = 5
_SHOWN = ("id", "text", "channel", "kind", "category", "role", "name", "thread_id", "source", "summary", "context")
Tick = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class BundleManifest:
    """The contents of a bundle: whose it is, up to which revision, and checksums of its files.

    Attributes:
        model: the embedding model of the vectors in it, or None.
        terms: version of the terms in it (:data:`memwarden.text.TERMS_VERSION`). Bundles without it hold version 3.
        memories: number of memories in every state. items, checkpoints: number of LangGraph's.
    """

    tenant: str
    path: str
    rev: int
    model: str | None
    memories: int
    sha256: Mapping[str, str]
    items: int = 0
    checkpoints: int = 0
    terms: int = 3

    @property
    def namespace(self) -> Namespace:
        return Namespace(self.tenant, self.path)


@dataclass(frozen=True, slots=True)
class ExportResult:
    """An exported bundle. left_behind: rows by kind that it does not hold."""

    manifest: BundleManifest
    left_behind: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ImportResult:
    """An import of a bundle.

    there: the revision at which the store stood before. The rest was new. left_behind: what the engine does not keep.
    """

    manifest: BundleManifest
    there: int
    left_behind: Mapping[str, int] = field(default_factory=dict)

    @property
    def new(self) -> int:
        """Journal entries that the store did not have."""
        return max(0, self.manifest.rev - self.there)


async def export_bundle(store: Store, namespace: Namespace, file: Path, tick: Tick = lambda done: None) -> ExportResult:
    """Write everything that is remembered in a namespace into a new file, a page in memory at a time.

    Raises NotFound for a namespace without memories, Conflict when ``file`` is there or somebody writes all the time.
    """
    if not (await store.head(namespace)).rev and not await _holds_beside(store, namespace):
        raise NotFound(f"nothing is remembered in {namespace}")
    with make_work_folder(file) as folder:
        for _ in range(_MAX_ATTEMPTS):
            manifest = await _write_files(store, namespace, folder, tick)
            if manifest is not None:
                await asyncio.to_thread(_pack, folder, manifest)
                publish(folder / "bundle", file)
                events = (await store.holdings(namespace)).events
                return ExportResult(manifest, {"events": events} if events else {})
    raise Conflict(f"{namespace} is written to all the time; stop that, and start again")


async def import_bundle(
    store: Store, file: Path, *, dry_run: bool = False, tick: Tick = lambda done: None
) -> ImportResult:
    """Read a bundle into a store, with its numbers, times and history, after the whole file was checked.

    What a killed import has read is not read again. Vectors of another embedding model than the store's are left out
    and made anew later. Terms of another version are made anew at once. Raises StoreCorrupt and InvalidInput for a
    damaged file, with the line; Conflict when the store holds something else of the person.
    """
    with open_bundle(file) as (archive, manifest):
        ends = await asyncio.to_thread(_check_pages, archive, manifest, file)
        there = await _find_common(store, archive, manifest, file)
        await _check_beside(store, archive, manifest, file)
        result = ImportResult(manifest, there, _left_behind(store, manifest))
        if dry_run:
            return result
        adapt = await _bind_model(store, manifest)
        digest = hashlib.sha256()
        for _, bundled in _read_pages(archive, file):
            page = adapt(bundled)
            digest.update(_encode(page))
            if page.since >= there:
                try:
                    await store.load_page(page)
                except MemwardenError as error:
                    raise type(error)(f"{error}. {_tell_how_to_go_on(error, page.since, manifest)}") from error
                tick(page.rev - page.since)
        if BESIDE in manifest.sha256:
            with archive.open(BESIDE) as packed:
                await write_beside(store, manifest.namespace, _lines(packed))
        await _compare(store, manifest, ends, digest.hexdigest())
        return result


async def _bind_model(store: Store, manifest: BundleManifest) -> Callable[[Page], Page]:
    """Bind a new store to the bundle's model. Return the function that makes a page fit for the store."""
    bound = (await store.about()).model
    if bound is None and manifest.model is not None:
        bound = await store.identity(manifest.model)
    if manifest.terms != TERMS_VERSION:
        return partial(_map_signals, _renew_terms)
    return partial(_map_signals, _drop_vectors) if manifest.model not in (None, bound) else lambda page: page


def _map_signals(change: Callable[[MemoryRow], Signals], page: Page) -> Page:
    return replace(page, memories=tuple(replace(row, signals=change(row)) for row in page.memories))


def _renew_terms(row: MemoryRow) -> Signals:
    """Return the signals that need no model. Vectors by passage have no place in terms of another version."""
    if not row.memory.text:  # purged
        return row.signals
    said = local_time(row.memory.created_at, row.memory.utc_offset)
    return Signals(**make_text_signals(row.memory.text, said)._asdict())


def _drop_vectors(row: MemoryRow) -> Signals:
    """Return the signals without vectors, which the store's embedder makes later."""
    if row.signals.passages is None:
        return replace(row.signals, vector=None, pieces=None)
    return _renew_terms(row)


def _tell_how_to_go_on(error: MemwardenError, rev: int, manifest: BundleManifest) -> str:
    """Return, in words, what an import that broke off left behind and what to do about it."""
    if not rev:
        return "Nothing was imported"
    if isinstance(error, Conflict):
        return (
            f"{rev} of {manifest.rev} changes are in, beside what was written meanwhile: erase {manifest.path}, stop "
            "who writes, import again"
        )
    return f"{rev} of {manifest.rev} changes are in: import the file again, and it goes on there"


def read_bundle_manifest(file: Path) -> BundleManifest:
    """Return the manifest of a bundle, whose bytes are checked. Raises StoreCorrupt."""
    with open_bundle(file) as (_, manifest):
        return manifest


def is_bundle(file: Path) -> bool:
    """Return whether a file is a bundle, whole or not."""
    try:
        with ZipFile(file) as archive:
            return {MANIFEST, PAGES} <= set(archive.namelist())
    except (BadZipFile, OSError):
        return False


@contextmanager
def open_bundle(file: Path) -> Iterator[tuple[ZipFile, BundleManifest]]:
    """Open a bundle after checking every byte against its checksums. Raises StoreCorrupt, StoreTooNew, NotFound."""
    if not file.exists():
        raise NotFound(f"there is no file {file}")
    with explain_os_errors(file), file.open("rb") as opened:
        archive, manifest = _checked(opened, file)
        with archive:
            yield archive, manifest


def _checked(opened: BinaryIO, file: Path) -> tuple[ZipFile, BundleManifest]:
    try:
        archive = ZipFile(opened)
        if len(set(archive.namelist())) < len(archive.namelist()):
            raise ValueError("it holds a file twice")
        manifest = _read_manifest(archive)
        for name, digest in manifest.sha256.items():
            if _digest(archive, name) != digest:
                raise ValueError(f"{name} is not what was written")
    except (BadZipFile, KeyError, TypeError, ValueError, EOFError, zlib.error, RuntimeError) as error:
        raise StoreCorrupt(f"{file} is no whole bundle of memwarden: {error}. Nothing was taken from it") from error
    return archive, manifest


def _read_manifest(archive: ZipFile) -> BundleManifest:
    said = json.loads(archive.read(MANIFEST))
    if said.pop("memwarden bundle") > FORMAT:
        raise StoreTooNew("the bundle was written by a later memwarden; upgrade memwarden")
    manifest = BundleManifest(**said)
    if set(manifest.sha256) - {BESIDE} != {PAGES, READABLE}:
        raise ValueError("its manifest names other files")
    return manifest


async def _holds_beside(store: Store, namespace: Namespace) -> bool:
    return any([True async for _ in read_beside(store, namespace)])


async def _write_files(store: Store, namespace: Namespace, folder: Path, tick: Tick) -> BundleManifest | None:
    """Write both files of a bundle. None when the namespace changed meanwhile."""
    sums = {PAGES: hashlib.sha256(), READABLE: hashlib.sha256()}
    since, memories, head = 0, 0, await store.head(namespace)
    with open_private(folder / PAGES, "wb") as pages, open_private(folder / READABLE, "wb") as readable:
        files: dict[str, BinaryIO] = {PAGES: pages, READABLE: readable}
        while since < head.rev:
            page = await store.dump_page(namespace, since, limit=_PAGE)
            if page.head != head.rev:
                return None
            for name, said in ((PAGES, _encode(page)), (READABLE, _encode_memories(page))):
                sums[name].update(said)
                await asyncio.to_thread(files[name].write, said)
            tick(page.rev - since)
            since, memories = page.rev, memories + len(page.memories)
    beside = await _write_beside(store, namespace, folder)
    if beside is None or await store.head(namespace) != head:
        return None
    digests = {name: item.hexdigest() for name, item in sums.items()} | beside.sha256
    model = (await store.about()).model
    return BundleManifest(
        namespace.tenant,
        namespace.path,
        since,
        model,
        memories,
        digests,
        beside.items,
        beside.checkpoints,
        terms=TERMS_VERSION,
    )


class _Beside(NamedTuple):
    """Counts of the lines of :data:`BESIDE`, and its checksum where there are any."""

    sha256: dict[str, str]
    items: int
    checkpoints: int


async def _write_beside(store: Store, namespace: Namespace, folder: Path) -> _Beside | None:
    """Write what lies beside the memories. None when it changed meanwhile, for it has no revision."""
    kinds = Counter[bool]()
    digest = hashlib.sha256()
    with open_private(folder / BESIDE, "wb") as file:
        async for line in read_beside(store, namespace):
            digest.update(line)
            kinds[isinstance(parse_line(line), PutItem)] += 1
            await asyncio.to_thread(file.write, line)
    if not kinds:
        return _Beside({}, 0, 0)
    if await digest_beside(store, namespace) != digest.hexdigest():
        return None
    return _Beside({BESIDE: digest.hexdigest()}, kinds[True], kinds[False])


def _encode(page: Page) -> bytes:
    """Return a page as a line that is the same from every engine."""
    return json.dumps(_alike(json.loads(page_json(page))), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def _alike(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: item if key in ("payload", "meta") else _alike(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_alike(item, name) for item in value]
    # Callers may give whole numbers here. Some engines return them as such.
    return float(value) if name in ("importance", "strength") and value is not None else value


def _encode_memories(page: Page) -> bytes:
    return b"".join(json.dumps(_describe(item.memory), ensure_ascii=False).encode() + b"\n" for item in page.memories)


def _describe(memory: Memory) -> dict[str, Any]:
    """Return what a person may want to read of a memory."""
    said = {name: getattr(memory, name) for name in _SHOWN}
    times = {"when": memory.said_at.isoformat(), "state": str(memory.state), "tags": list(memory.tags)}
    return {name: value for name, value in {**said, **times}.items() if value not in (None, [], "")}


def _pack(folder: Path, manifest: BundleManifest) -> None:
    with open_private(folder / "bundle", "wb") as file, ZipFile(file, "w") as archive:
        said = asdict(manifest)
        beside = {name: said.pop(name) for name in ("items", "checkpoints")}
        form = (
            {"memwarden bundle": FORMAT, **said, **beside} if any(beside.values()) else {"memwarden bundle": 1, **said}
        )
        archive.writestr(_entry(MANIFEST), json.dumps(form, indent=1, ensure_ascii=False))
        for name in (READABLE, PAGES, BESIDE):
            if name not in manifest.sha256:
                continue
            with (folder / name).open("rb") as source, archive.open(_entry(name), "w", force_zip64=True) as packed:
                while chunk := source.read(CHUNK):
                    packed.write(chunk)


def _entry(name: str) -> ZipInfo:
    """Return the entry of a file, with a time that is always the same, as the bytes of a bundle shall be."""
    entry = ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o600 << 16
    return entry


def _digest(archive: ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as packed:
        while chunk := packed.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _read_pages(archive: ZipFile, file: Path) -> Iterator[tuple[int, Page]]:
    """Yield the pages with the numbers of their lines. Raises InvalidInput that names the line."""
    with archive.open(PAGES) as packed:
        for number, line in enumerate(_read_lines(packed, file, PAGES), 1):
            try:
                page = page_of(json.loads(line))
                for item in page.memories:
                    _check_memory(item.memory)
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                raise _wrong_line(file, number, f"{error!r:.200}") from None
            yield number, page


def _read_lines(packed: IO[bytes], file: Path, name: str) -> Iterator[bytes]:
    """Yield lines. Raises InvalidInput for a line that would fill the memory."""
    for number, line in enumerate(iter(lambda: packed.readline(MAX_LINE + 1), b""), 1):
        if len(line) > MAX_LINE:
            raise _wrong_line(file, number, f"it is over {MAX_LINE:,} bytes", name)
        yield line


async def _lines(packed: IO[bytes]) -> AsyncIterator[bytes]:
    for line in packed:
        yield line


def _check_memory(memory: Memory) -> None:
    kinds = {"id": str, "text": str, "created_at": datetime, "importance": float, "version": int, "utc_offset": int}
    for name, kind in kinds.items():
        if not isinstance(getattr(memory, name), kind):
            raise ValueError(f"{name} of a memory is {getattr(memory, name)!r:.80}")
    if not -MAX_OFFSET <= memory.utc_offset <= MAX_OFFSET:
        raise ValueError(f"utc_offset of a memory is {memory.utc_offset!r:.80}")


def _check_pages(archive: ZipFile, manifest: BundleManifest, file: Path) -> list[int]:
    """Read every line before anything is written: each page follows the one before it, and all are of one namespace.

    Returns the revisions at which the pages end.
    """
    rev, number, ends = 0, 0, list[int]()
    for number, page in _read_pages(archive, file):
        if page.namespace != manifest.namespace:
            raise _wrong_line(file, number, f"it is of {page.namespace}, the manifest of {manifest.namespace}")
        if page.since != rev or [entry.seq for entry in page.changes] != list(range(rev + 1, page.rev + 1)):
            raise _wrong_line(file, number, f"it does not follow revision {rev}")
        rev = page.rev
        ends.append(rev)
    if rev != manifest.rev:
        raise _wrong_line(file, number, f"it ends at revision {rev}, the manifest at {manifest.rev}")
    return ends


async def _find_common(store: Store, archive: ZipFile, manifest: BundleManifest, file: Path) -> int:
    """Return the revision up to which the store holds the bundle already. Raises Conflict when it holds another."""
    namespace = manifest.namespace
    there, common = (await store.head(namespace)).rev, 0
    for _, page in _read_pages(archive, file):
        if page.rev > there:
            break
        if tuple(await store.journal(namespace, since=page.since, limit=page.rev - page.since)) != page.changes:
            break
        common = page.rev
    if common != there:
        raise Conflict(
            f"the store holds something else in {namespace} than {file} does; erase it first, or choose another store"
        )
    return there


async def _check_beside(store: Store, archive: ZipFile, manifest: BundleManifest, file: Path) -> None:
    """Read every line of items and checkpoints. Raises InvalidInput with the line, Conflict for others in the store."""
    known: set[bytes] = set()
    if BESIDE in manifest.sha256:
        with archive.open(BESIDE) as packed:
            for number, line in enumerate(_read_lines(packed, file, BESIDE), 1):
                try:
                    parse_line(line)
                except (ValueError, KeyError, TypeError) as error:
                    raise _wrong_line(file, number, f"{error!r:.200}", BESIDE) from None
                known.add(digest_line(line))
    await check_beside(store, manifest.namespace, known)


def _left_behind(store: Store, manifest: BundleManifest) -> dict[str, int]:
    counts = {"items": manifest.items, "checkpoints": manifest.checkpoints}
    kept = {"items": keeps_items(store) is not None, "checkpoints": keeps_checkpoints(store)}
    return {name: count for name, count in counts.items() if count and not kept[name]}


async def _compare(store: Store, manifest: BundleManifest, ends: Sequence[int], imported: str) -> None:
    """Compare the store with what was read: exported again in the same pages, it has the digest ``imported``."""
    digest, since = hashlib.sha256(), 0
    for end in ends:
        page = await store.dump_page(manifest.namespace, since, limit=end - since)
        digest.update(_encode(page))
        since = page.rev
    same = since != manifest.rev or digest.hexdigest() == imported
    if BESIDE in manifest.sha256 and not _left_behind(store, manifest):
        same &= await digest_beside(store, manifest.namespace) == manifest.sha256[BESIDE]
    if not same:
        raise StoreCorrupt(f"what was imported into {manifest.namespace} is not what the bundle holds; erase it, retry")


def _wrong_line(file: Path, number: int, why: str, name: str = PAGES) -> InvalidInput:
    return InvalidInput(f"{file}, {name} line {number}: {why}. Nothing was imported")
