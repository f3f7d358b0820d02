"""Builds and drops the indexes of a large namespace, while others write.

They are partial indexes, built with CONCURRENTLY: no writer waits. The builder holds an advisory lock of the namespace;
a killed build leaves an invalid index, which the next build drops. Only the owner of the tables may build.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any, NamedTuple

from psycopg import Connection, Error, errors
from psycopg.sql import SQL, Composed, Identifier, Literal

from memwarden.errors import StoreUnavailable
from memwarden.records import Namespace
from memwarden.stores.postgres.schema import MIGRATION_LOCK
from memwarden.stores.postgres.sql.transaction import begin, scope_values

_LOCK = 0x6D777372  # "mwsr", with the namespace's digest as the second key
_MEMORY = "256MB"  # an HNSW over 200,000 vectors of 128 numbers fits; larger ones are built more slowly
_STATE = b"SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_EXTENSION = b"""
    SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'
"""
_HERE = "tenant = %s AND namespace = %s"
_LOCK_HEAD = f"SELECT FROM memwarden.namespaces WHERE {_HERE} FOR UPDATE".encode()
_BEGIN = b"INSERT INTO memwarden.digests VALUES (%s, %s, 0, NULL) ON CONFLICT DO NOTHING"
_COPY = (
    "INSERT INTO memwarden.vectors SELECT tenant, namespace, n, memwarden.floats(vector)::{}.halfvec "
    "FROM memwarden.signals WHERE tenant = %s AND namespace = %s AND n > %s AND n <= %s AND vector IS NOT NULL "
    "ON CONFLICT DO NOTHING"
)
_LAST = f"SELECT rows FROM memwarden.namespaces WHERE {_HERE}".encode()
_COPY_ROWS = 2_000  # vectors copied per transaction


class IndexNames(NamedTuple):
    """The indexes of a namespace: over words, over categories, over vectors."""

    words: str
    category: str
    near: str


def index_names(namespace: Namespace) -> IndexNames:
    """Return the names of a namespace's own indexes."""
    digest = hashlib.sha256("\x00".join(scope_values(namespace)).encode()).hexdigest()[:16]
    return IndexNames(f"search_words_{digest}", f"search_category_{digest}", f"search_near_{digest}")


def make_indexes(db: Connection[Any], namespace: Namespace, dimensions: int | None, seconds: float, place: str) -> bool:
    """See :meth:`SearchableStore.make_search`. The connection is used for nothing else."""
    with _lock_indexes(db, namespace) as alone:
        if not alone:
            return False
        try:
            schema = None if dimensions is None else _pgvector(db, place)
            _announce(db, namespace, seconds)
            if schema is not None:
                _copy(db, namespace, schema, seconds)
            for name, what in _indexes(namespace, schema, dimensions):
                _build(db, name, what)
            db.execute(b"ANALYZE memwarden.signals, memwarden.memories")
        except errors.InsufficientPrivilege:
            raise StoreUnavailable(
                f"{place}: {namespace.path} is large enough for indexes of its own, which only the owner of the schema "
                "memwarden may make; query it once with the owner's login. Until then it is read into memory"
            ) from None
    return True


def drop_indexes(db: Connection[Any], namespace: Namespace, seconds: float) -> bool:
    """See :meth:`memwarden.stores.shared.search.SearchableStore.drop_search`."""
    with _lock_indexes(db, namespace) as alone:
        if not alone:
            return False
        begin(db, namespace, seconds)  # first the digest: from then on nobody searches
        db.execute(b"DELETE FROM memwarden.digests WHERE tenant = %s AND namespace = %s", scope_values(namespace))
        db.execute(b"COMMIT")
        for name in index_names(namespace):
            db.execute(SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(Identifier("memwarden", name)))
        if db.execute(b"SELECT to_regclass('memwarden.vectors')").fetchone() != (None,):
            begin(db, namespace, seconds)
            db.execute(b"SELECT set_config('statement_timeout', '0', true)")
            db.execute(b"DELETE FROM memwarden.vectors WHERE tenant = %s AND namespace = %s", scope_values(namespace))
            db.execute(b"COMMIT")
    return True


def vector_schema(db: Connection[Any]) -> str | None:
    """Return the schema of pgvector; None without the extension."""
    found = db.execute(_EXTENSION).fetchone()
    return None if found is None else str(found[0])


def _announce(db: Connection[Any], namespace: Namespace, seconds: float) -> None:
    """Make later writers to the namespace write its vectors too.

    A writer locks the namespace's row first, so earlier writers have committed by now and later writers see the digest.
    """
    begin(db, namespace, seconds)
    db.execute(_LOCK_HEAD, scope_values(namespace))
    db.execute(_BEGIN, scope_values(namespace))
    db.execute(b"COMMIT")


def _copy(db: Connection[Any], namespace: Namespace, schema: str, seconds: float) -> None:
    """Copy missing vectors into the search table, a few thousand rows per transaction."""
    copy = SQL(_COPY).format(Identifier(schema))
    first, last = 0, 1
    while first < last:
        begin(db, namespace, seconds)
        (last,) = db.execute(_LAST, scope_values(namespace)).fetchone() or (0,)
        db.execute(copy, (*scope_values(namespace), first, first + _COPY_ROWS))
        db.execute(b"COMMIT")
        first += _COPY_ROWS


def _indexes(namespace: Namespace, schema: str | None, dimensions: int | None) -> Iterator[tuple[str, Composed]]:
    own = index_names(namespace)
    only = SQL("tenant = {} AND namespace = {}").format(*map(Literal, scope_values(namespace)))
    yield own.category, SQL("memwarden.memories (category, n) WHERE state = 'active' AND {}").format(only)
    # Without fastupdate: its pending list would be scanned by every search.
    words = SQL("memwarden.signals USING gin (memwarden.words(terms)) WITH (fastupdate = off) WHERE {}")
    yield own.words, words.format(only)
    if schema is not None:
        near = SQL("memwarden.vectors USING hnsw ((vector::{}.halfvec({})) {}.halfvec_ip_ops) WHERE {}")
        yield own.near, near.format(Identifier(schema), Literal(dimensions), Identifier(schema), only)


def _build(db: Connection[Any], name: str, what: Any) -> None:
    found = db.execute(_STATE, (f"memwarden.{name}",)).fetchone()
    if found == (True,):
        return
    if found is not None:  # the remains of a build that was killed
        db.execute(SQL("DROP INDEX CONCURRENTLY {}").format(Identifier("memwarden", name)))
    db.execute(SQL("CREATE INDEX CONCURRENTLY {} ON {}").format(Identifier(name), what))


def _pgvector(db: Connection[Any], place: str) -> str:
    """Return pgvector's schema, creating the extension and the table of vectors if missing."""
    schema = vector_schema(db)
    if schema is None:
        try:
            db.execute(b"CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        except Error as error:
            raise StoreUnavailable(
                f"{place}: namespaces of this size are searched with pgvector, which cannot be made here "
                f"({type(error).__name__}); have an administrator run CREATE EXTENSION vector. Until then they are "
                "read into memory"
            ) from None
        schema = vector_schema(db) or "public"
    with db.transaction():
        db.execute(b"SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        if db.execute(b"SELECT to_regclass('memwarden.vectors')").fetchone() == (None,):
            script = (resources.files("memwarden.stores.postgres") / "vectors.sql").read_text("utf-8")
            db.execute(script.replace("{schema}", Identifier(schema).as_string(db)).encode())
    return schema


@contextmanager
def _lock_indexes(db: Connection[Any], namespace: Namespace) -> Iterator[bool]:
    """Try to lock the namespace's indexes for the block; yield whether this process got the lock."""
    key = int.from_bytes(hashlib.sha256("\x00".join(scope_values(namespace)).encode()).digest()[:4], "big", signed=True)
    (got,) = db.execute(b"SELECT pg_try_advisory_lock(%s, %s)", (_LOCK, key)).fetchone() or (False,)
    db.execute(b"SET statement_timeout = 0")
    db.execute(f"SET maintenance_work_mem = '{_MEMORY}'".encode())
    try:
        yield bool(got)
    finally:
        if got and not db.closed:
            db.execute(b"SELECT pg_advisory_unlock(%s, %s)", (_LOCK, key))
