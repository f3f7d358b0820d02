"""Finds candidates in a large namespace. Rows come as packed columns.

The statements of a question hold the tenant and path of the namespace as literals: only so can PostgreSQL use the
namespace's own partial indexes in a plan that it keeps. All others bind them.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from psycopg import Connection, Error, errors
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Composed, Identifier, Literal

from memwarden.errors import StoreUnavailable
from memwarden.filters import Condition
from memwarden.records import EXTRACTED_BY, STANDING_IN, Head, IndexRow, Namespace
from memwarden.stores.postgres.citus import distribute, has_citus, on_citus
from memwarden.stores.postgres.rows import (
    ACTIVE_COLUMNS,
    INDEX_COLUMNS,
    array,
    condition_sql,
    decode_index_row,
    decode_text,
    encode_text,
    order_sql,
)
from memwarden.stores.postgres.schema import MIGRATION_LOCK
from memwarden.stores.postgres.transaction import ROLE, SEARCH_ROLE, TransactionKind, begin, quote_text, scope_values
from memwarden.stores.shared.search import (
    MAX_ALWAYS,
    NO_ROWS,
    PASSAGE_BYTES,
    ChangedRow,
    ChangesSince,
    KnownRows,
    NamespaceStatus,
    OpenRows,
    PackedColumns,
    RestingRows,
    RowContent,
    SearchLegs,
    SearchRows,
    SurroundingRow,
)

HERE = "tenant = %s AND namespace = %s"


_LOCK = 0x6D777372  # "mwsr", with the namespace's digest as the second key
_MEMORY = "256MB"  # an HNSW over 200,000 vectors of 128 numbers fits; larger ones are built more slowly
_STATE = b"SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)"
_EXTENSION = b"""
    SELECT nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'
"""
_LOCK_HEAD = f"SELECT FROM memwarden.namespaces WHERE {HERE} FOR UPDATE".encode()
# A row for each move that holds the indexes. An earlier memwarden wrote one without the model that it moved to.
_HOLD = b"INSERT INTO memwarden.meta (key, value) VALUES ('search_held ' || %s::text, 'yes') ON CONFLICT DO NOTHING"
_HELD = b"SELECT FROM memwarden.meta WHERE key = 'search_held' OR starts_with(key, 'search_held ')"
_LET_GO = b"DELETE FROM memwarden.meta WHERE key = 'search_held ' || %s::text"
_LET_ALL_GO = b"DELETE FROM memwarden.meta WHERE key = 'search_held' OR starts_with(key, 'search_held ')"
_BEGIN = b"INSERT INTO memwarden.digests VALUES (%s, %s, 0, NULL) ON CONFLICT DO NOTHING"
_COPY = (
    "INSERT INTO memwarden.vectors SELECT tenant, namespace, n, memwarden.floats(vector)::{}.halfvec "
    "FROM memwarden.signals WHERE tenant = %s AND namespace = %s AND n > %s AND n <= %s AND vector IS NOT NULL "
    "ON CONFLICT DO NOTHING"
)
_LAST = f"SELECT rows FROM memwarden.namespaces WHERE {HERE}".encode()
_COPY_ROWS = 2_000  # vectors copied per transaction


class IndexNames(NamedTuple):
    """The indexes of a namespace: over words, categories, vectors, sources of facts, numbers of active rows."""

    words: str
    category: str
    near: str
    sources: str
    rows: str


def index_names(namespace: Namespace) -> IndexNames:
    """Return the names of a namespace's own indexes."""
    digest = hashlib.sha256("\x00".join(scope_values(namespace)).encode()).hexdigest()[:16]
    return IndexNames(*(f"search_{over}_{digest}" for over in IndexNames._fields))


def make_indexes(db: Connection[Any], namespace: Namespace, dimensions: int | None, seconds: float, place: str) -> bool:
    """See :meth:`SearchableStore.make_search`. The connection is used for nothing else."""
    with _lock_indexes(db, namespace) as alone, _lock_making(db) as first:
        if not (alone and first):
            return False
        if db.execute(_HELD).fetchone() is not None:
            return False
        if has_citus(db):
            _try_search_role(db, namespace, seconds, place)
        try:
            schema = None if dimensions is None else _pgvector(db, place)
            _announce(db, namespace, seconds)
            if schema is not None:
                _copy(db, namespace, schema, seconds)
            for name, what in _indexes(namespace, schema, dimensions):
                _build(db, name, what)
            db.execute(b"ANALYZE memwarden.signals, memwarden.memories")
            if schema is not None:
                db.execute(b"ANALYZE memwarden.vectors")
        except errors.InsufficientPrivilege:
            raise StoreUnavailable(
                f"{place}: {namespace.path} is large enough for indexes of its own, which only the owner of the schema "
                "memwarden may make; query it once with the owner's login. Until then it is read into memory"
            ) from None
    return True


def hold_indexes(db: Connection[Any], model: str) -> None:
    """See :meth:`memwarden.stores.shared.search.SearchableStore.hold_search`."""
    db.execute(_HOLD, [encode_text(model)])


def release_indexes(db: Connection[Any], model: str | None) -> None:
    """See :meth:`memwarden.stores.shared.search.SearchableStore.release_search`."""
    if model is None:
        db.execute(_LET_ALL_GO)
    else:
        db.execute(_LET_GO, [encode_text(model)])


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
    """Return the schema of pgvector. None without the extension."""
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
    sources = SQL("memwarden.memories USING gin (sources) WHERE channel <> 'turn' AND {}")
    yield own.sources, sources.format(only)
    # Last of those that every namespace has: where it stands, all of them do.
    rows = SQL("memwarden.memories (n) WHERE state = 'active' AND {}")
    yield own.rows, rows.format(only)
    if schema is not None:
        near = SQL("memwarden.vectors USING hnsw ((vector::{}.halfvec({})) {}.halfvec_ip_ops) WHERE {}")
        yield own.near, near.format(Identifier(schema), Literal(dimensions), Identifier(schema), only)


def _build(db: Connection[Any], name: str, what: Any) -> None:
    found = db.execute(_STATE, (f"memwarden.{name}",)).fetchone()
    if found == (True,):
        return
    if found is not None:  # the remains of a build that was killed
        db.execute(SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(Identifier("memwarden", name)))
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
            _run_script(db, "vectors.sql", schema)
            if has_citus(db):
                distribute(db)
            else:
                _run_script(db, "vectors_trigger.sql", schema)
    return schema


def _try_search_role(db: Connection[Any], namespace: Namespace, seconds: float, place: str) -> None:
    """Raise StoreUnavailable unless the role that finds words can log in to the node of a namespace."""
    try:
        begin(db, namespace, seconds, TransactionKind.READ)
        db.execute(_WITH_WORDS, ("00000000", 1))
    except Error as error:
        raise StoreUnavailable(
            f"{place}: {namespace.path} is large enough to be searched on its node, to which the role {SEARCH_ROLE} "
            f"cannot log in ({type(error).__name__}); allow it in pg_hba.conf of the nodes, as {ROLE}. Until then the "
            "namespace is read into memory"
        ) from None
    finally:
        db.execute(b"ROLLBACK")


def _run_script(db: Connection[Any], name: str, schema: str) -> None:
    """Run a file of SQL beside this module. schema: of pgvector."""
    script = (resources.files("memwarden.stores.postgres") / name).read_text("utf-8")
    db.execute(script.replace("{schema}", Identifier(schema).as_string(db)).encode())


@contextmanager
def _lock_indexes(db: Connection[Any], namespace: Namespace) -> Iterator[bool]:
    """Try to lock the namespace's indexes for the block. Yield whether this process got the lock."""
    key = int.from_bytes(hashlib.sha256("\x00".join(scope_values(namespace)).encode()).digest()[:4], "big", signed=True)
    (got,) = db.execute(b"SELECT pg_try_advisory_lock(%s, %s)", (_LOCK, key)).fetchone() or (False,)
    db.execute(b"SET statement_timeout = 0")
    db.execute(f"SET maintenance_work_mem = '{_MEMORY}'".encode())
    try:
        yield bool(got)
    finally:
        if got and not db.closed:
            _end_failed(db)
            db.execute(b"SELECT pg_advisory_unlock(%s, %s)", (_LOCK, key))


@contextmanager
def _lock_making(db: Connection[Any]) -> Iterator[bool]:
    """Try to be the only one who builds indexes in the database: two builds would wait for each other."""
    (got,) = db.execute(b"SELECT pg_try_advisory_lock(%s)", (_LOCK,)).fetchone() or (False,)
    try:
        yield bool(got)
    finally:
        if got and not db.closed:
            _end_failed(db)
            db.execute(b"SELECT pg_advisory_unlock(%s)", (_LOCK,))


def _end_failed(db: Connection[Any]) -> None:
    """End a transaction that failed, so that what follows does not hide its error by one of its own."""
    if db.info.transaction_status == TransactionStatus.INERROR:
        db.execute(b"ROLLBACK")


_BETWEEN = "\x01\x04"
_NONE = "\x01\x05"
_M = "m.tenant = %s AND m.namespace = %s"
_SIGNALS = "JOIN memwarden.signals s ON s.tenant = m.tenant AND s.namespace = m.namespace AND s.n = m.n"
_HEAD = f"SELECT rev, epoch FROM memwarden.namespaces WHERE {HERE}"
_WITH_DIGEST = (
    "FROM memwarden.namespaces n LEFT JOIN memwarden.digests d ON d.tenant = n.tenant AND d.namespace = n.namespace "
    "AND d.body IS NOT NULL WHERE n.tenant = %s AND n.namespace = %s"
)
_COUNTERS = f"SELECT n.rev, n.epoch, d.rev {_WITH_DIGEST}"
_VALID = "SELECT bool_and(indisvalid) FROM pg_index WHERE indexrelid = to_regclass(%s)"
_STANDING = f"SELECT n.rows, d.rev {_WITH_DIGEST}"
# The functions by themselves: Citus runs a statement with tables on their node, where these functions cannot run.
_WITH_WORDS = "SELECT n FROM memwarden.rows_with(%s, %s) n"
_RESTING_ON = "SELECT n FROM memwarden.rows_resting(%b::int8[]) n"
_RESTING = f"SELECT m.n, m.state = 'active' FROM memwarden.memories m WHERE {_M} AND m.n = ANY(%s::int8[])"
_LACKING = f"""
    SELECT m.n, m.id FROM memwarden.memories m {_SIGNALS} WHERE {_M} AND m.n > %s::int8 AND m.state = 'active'
    AND CASE WHEN s.vector IS NULL THEN m.channel = 'turn'
        ELSE substring(s.statements FROM 1 FOR length(%s::bytea)) IS DISTINCT FROM %s::bytea
            AND (s.statements = '') IS NOT TRUE AND %s::bytea IS NOT NULL END
    ORDER BY m.n LIMIT %s::int8
"""
_BODY = f"SELECT rev, body FROM memwarden.digests WHERE {HERE} AND body IS NOT NULL"
_SAVE = b"UPDATE memwarden.digests SET rev = %s, body = %b WHERE tenant = %s AND namespace = %s"
_NUMBERED = (
    f"SELECT {INDEX_COLUMNS} FROM memwarden.memories m {_SIGNALS} WHERE {_M} AND m.n = ANY(%s::int8[]) ORDER BY m.n"
)


# The newest entry up to a revision that wrote a row. Rows are numbered in the order of these entries. Conditions of the
# namespace are named by their table, each by itself: Citus infers none of them within a subquery.
_LAST_THEN = """
    SELECT m.n FROM memwarden.journal j JOIN memwarden.memories m ON {m} AND m.id = j.memory_id
    WHERE {j} AND j.seq <= %s::int8 AND NOT EXISTS (
        SELECT FROM memwarden.journal e WHERE {e} AND e.memory_id = j.memory_id AND e.seq < j.seq)
    ORDER BY j.seq DESC LIMIT 1
"""
_SAID = '{0}.text, {0}.created_at, {0}.utc_offset, {0}.role COLLATE "C", {0}.name COLLATE "C"'
_CHANGED = """
    SELECT m.n, m.id, m.category, m.version, j.old_version,
        j.old_version = m.version OR ({said_then}) IS NOT DISTINCT FROM ({said_now}),
        m.state = 'purged' AND j.event = 'PURGE', j.seq IS NULL
    FROM memwarden.memories m
    LEFT JOIN LATERAL (SELECT seq, event, old_version FROM memwarden.journal e
        WHERE {e} AND e.memory_id = m.id AND e.seq > %s::int8 ORDER BY e.seq LIMIT 1) j ON true
    LEFT JOIN memwarden.versions v ON {v} AND v.id = m.id AND v.version = j.old_version
    WHERE {m} AND m.rev > %s::int8 AND m.n <= %s::int8 ORDER BY m.rev DESC LIMIT %s::int8
"""


def _blob(expression: str) -> str:
    return f"coalesce(string_agg({expression}, ''::bytea), ''::bytea)"


def _send_pair(first: str, second: str) -> str:
    """Return the expression of two int32 as bytes. second: not negative."""
    return f"int8send(({first})::int8 << 32 | ({second}))"


def _text(expression: str) -> str:
    return f"coalesce(string_agg(coalesce({expression}, '{_NONE}'), '{_BETWEEN}'), '')"


# The length apart: every mention of the passages would read them from where long values are kept.
_PASSAGES = (
    f"substring(s.passages FOR {PASSAGE_BYTES}) AS passages, "
    f"least(coalesce(length(s.passages), 0), {PASSAGE_BYTES}) AS passage_length"
)
_COLUMNS = ", ".join(
    (
        _blob("int8send(n)"),
        _blob("int8send(said)"),
        _blob(_send_pair("utc_offset", "(flags << 8) | (open::int << 1) | turn::int")),
        _text("thread_id"),
        _text("name"),
        _blob(_send_pair("length(terms)", "length(days)")),
        _blob(_send_pair("coalesce(length(vector), 0)", "passage_length")),
        _blob("terms"),
        _blob("days"),
        _blob("vector"),
        _blob("passages"),
    )
)
_OUTLINE = (
    f"SELECT {_COLUMNS} FROM (SELECT m.n, m.created_at AS said, m.utc_offset, true AS open, "
    "m.channel = 'turn' AS turn, s.flags, m.thread_id, m.name, s.terms, ''::bytea AS days, "
    f"NULL::bytea AS vector, {_PASSAGES} "
    f"FROM memwarden.memories m {_SIGNALS} WHERE {_M} AND m.state = 'active') r"
)
_AROUND = """
    SELECT unnest(%b::int8[]) AS n UNION
    SELECT near.n FROM unnest(%b::text[], %b::int8[], %b::int8[]) AS seed(thread, n, reach), LATERAL (
        (SELECT n FROM memwarden.memories WHERE {here} AND thread_id = seed.thread
            AND state = 'active' AND n < seed.n ORDER BY n DESC LIMIT seed.reach)
        UNION ALL
        (SELECT n FROM memwarden.memories WHERE {here} AND thread_id = seed.thread
            AND state = 'active' AND n > seed.n ORDER BY n LIMIT seed.reach)) near
"""

# The columns of a RowContent, in its order.
_CONTENT = ", ".join(f"m.{name}" for name in RowContent._fields)
# Number of columns of INDEX_COLUMNS: those of an IndexRow but ``forgotten``, and whether it is escaped.
_INDEX_WIDTH = len(IndexRow._fields)

# A search brings some hundred rows, each by an index, whatever the planner thinks of tables that have just grown.
_SCAN = {
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
    "hnsw.iterative_scan": "relaxed_order",
}
# Settings of :func:`memwarden.stores.postgres.transaction.begin` and these in one statement.
_SETTINGS = f"""
    SELECT set_config('role', '{ROLE}', true),
        set_config('memwarden.listing', '', true), set_config('statement_timeout', %s, true),
        set_config('memwarden.tenant', %s, true), set_config('memwarden.namespace', %s, true),
        {", ".join(f"set_config('{name}', '{value}', true)" for name, value in _SCAN.items())},
        set_config('hnsw.ef_search', %s, true)
""".encode()
# Schema of pgvector by connection, so that a search does not ask for it each time.
_schemas: WeakKeyDictionary[Connection[Any], str] = WeakKeyDictionary()

Values = Sequence[Any]


class LegQuery(NamedTuple):
    """A statement and the values that it binds. prepared: whether the server keeps its plan, whatever the values."""

    sql: str
    values: Values
    prepared: bool = False


class NamespaceLiterals:
    """Conditions that hold a namespace as literals, for statements with placeholders."""

    def __init__(self, namespace: Namespace) -> None:
        self.tenant, self.path = (quote_text(name).replace("%", "%%") for name in scope_values(namespace))

    def of(self, alias: str = "") -> str:
        """Return the condition that a row is of the namespace. alias: of its table."""
        prefix = f"{alias}." if alias else ""
        return f"{prefix}tenant = {self.tenant} AND {prefix}namespace = {self.path}"

    @property
    def signals(self) -> str:
        """The join of a memory ``m`` with its signals ``s``."""
        return f"JOIN memwarden.signals s ON {self.of('s')} AND s.n = m.n"


class Searcher:
    """Searches over a connection.

    Args:
        seconds: time limit of a query.
    """

    def __init__(self, connection: Connection[Any], seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._on_citus = on_citus(connection)

    def standing(self, namespace: Namespace) -> NamespaceStatus:
        names = scope_values(namespace)
        own = f"memwarden.{index_names(namespace).rows}"
        found, ((indexed,),) = self._ask(namespace, LegQuery(_STANDING, names), LegQuery(_VALID, (own,)))
        rows, digest = found[0] if found else (0, None)
        return NamespaceStatus(rows, digest, bool(indexed))

    def digest(self, namespace: Namespace) -> tuple[int, bytes] | None:
        rows = self._ask(namespace, LegQuery(_BODY, scope_values(namespace)))[0]
        return (int(rows[0][0]), bytes(rows[0][1])) if rows else None

    def save_digest(self, namespace: Namespace, rev: int, body: bytes) -> None:
        begin(self._connection, namespace, self._seconds)
        self._connection.execute(_SAVE, (rev, body, *scope_values(namespace)))
        self._connection.execute(b"COMMIT")

    def outline(self, namespace: Namespace) -> tuple[Head, PackedColumns]:
        names = scope_values(namespace)
        head, rows = self._ask(namespace, LegQuery(_HEAD, names), LegQuery(_OUTLINE, names))
        return Head(*head[0]) if head else Head(0, 0), unpack_row(rows[0])

    def rows(self, namespace: Namespace, numbers: Sequence[int]) -> list[IndexRow]:
        tenant, path = scope_values(namespace)
        asked = LegQuery(_NUMBERED, (path, tenant, path, list(numbers)))
        return list(map(decode_index_row, self._ask(namespace, asked, near=0)[0]))

    def changes_since(self, namespace: Namespace, rev: int, limit: int) -> ChangesSince:
        scope = NamespaceLiterals(namespace)
        here = {alias: scope.of(alias) for alias in "ejmv"}
        asked = LegQuery(_HEAD, scope_values(namespace)), LegQuery(_LAST_THEN.format(**here), (rev,))
        head, found = self._ask(namespace, *asked, near=0)
        last = found[0][0] if found else 0
        sql = _CHANGED.format(**here, said_then=_SAID.format("v"), said_now=_SAID.format("m"))
        rows = self._ask(namespace, LegQuery(sql, (rev, rev, last, limit)), near=0)[0]
        # A row without an entry was not changed: its signals were made anew.
        changed = [
            ChangedRow(n, decode_text(key), decode_text(category), now, now if unchanged else before, same, purged)
            for n, key, category, now, before, same, purged, unchanged in rows
        ]
        return ChangesSince(Head(*head[0]) if head else Head(0, 0), last, changed)

    def numbers(self, namespace: Namespace, open_: OpenRows, limit: int, order_by: str, descending: bool) -> list[int]:
        condition, values = open_sql(open_)
        sql = (
            f"SELECT m.n FROM memwarden.memories m WHERE {_M} AND m.state = 'active' AND {condition} "
            f"ORDER BY {order_sql(order_by, descending)} LIMIT %s::int8"
        )
        return [row[0] for row in self._ask(namespace, LegQuery(sql, (*scope_values(namespace), *values, limit)))[0]]

    def look(self, namespace: Namespace, legs: SearchLegs, *, keep: bool = False) -> SearchRows:
        """See :meth:`SearchableStore.look`. keep: whether plans are kept, which filters of the caller rule out."""
        scope = NamespaceLiterals(namespace)
        open_, values = open_sql(legs.open)
        if keep:
            open_, values = name_texts(open_, values)
        schema = self._vector_schema() if legs.vector is not None and legs.near else None
        wanted = (
            self._near(scope, legs, schema, open_, values, keep) if schema else None,
            self._holding(namespace, legs, open_, values, keep) if legs.words else None,
            self._newest(scope, legs, open_, values, keep) if legs.newest else None,
            self._timely(scope, legs, open_, values) if legs.times else None,
            self._always(scope, legs, open_, values, keep) if legs.always else None,
            self._filter(scope, legs, open_, values) if legs.filtered else None,
        )
        counters = LegQuery(_COUNTERS, scope_values(namespace), prepared=not self._on_citus)
        head, *found = self._ask(namespace, counters, *filter(None, wanted), near=legs.near)
        rows = iter(found)
        rev, epoch, digest = head[0] if head else (0, 0, None)
        return SearchRows(
            Head(rev, epoch),
            digest,
            *(NO_ROWS if leg is None else unpack_row(next(rows)[0]) for leg in wanted),
        )

    def surround(
        self, namespace: Namespace, numbers: Sequence[int], seeds: Sequence[tuple[str, int, int]], open_: OpenRows
    ) -> list[SurroundingRow]:
        scope = NamespaceLiterals(namespace)
        condition, values = open_sql(open_)
        known, limits = known_sql(open_.known)
        bound = _around_values(numbers, seeds)
        sql = (
            f"SELECT {ACTIVE_COLUMNS}, {condition}, {_CONTENT} FROM ({_AROUND.format(here=scope.of())}) w "
            f"JOIN memwarden.memories m ON {scope.of('m')} AND m.n = w.n {scope.signals} "
            f"WHERE m.state = 'active'{known}"
        )
        return self._ask_rows(namespace, LegQuery(sql, (*values, *bound, *limits), prepared=not known))

    def resting_around(
        self, namespace: Namespace, numbers: Sequence[int], seeds: Sequence[tuple[str, int, int]], open_: OpenRows
    ) -> list[SurroundingRow]:
        scope = NamespaceLiterals(namespace)
        condition, values = open_sql(open_)
        known, limits = known_sql(open_.known)
        bound = _around_values(numbers, seeds)
        around = _AROUND.format(here=scope.of())
        source = f"memwarden.rows_resting(ARRAY({around}))"
        if self._on_citus:
            found = self._ask(namespace, LegQuery(around, bound), near=0)[0]
            resting = self._find_resting(namespace, [n for (n,) in found])
            source, bound = "unnest(%b::int8[])", (array("int8", resting),)
        columns = INDEX_COLUMNS.replace("%s", scope.path)
        sql = (
            f"SELECT {columns}, {condition}, {_CONTENT} FROM {source} r "
            f"JOIN memwarden.memories m ON {scope.of('m')} AND m.n = r {scope.signals} WHERE true{known}"
        )
        return self._ask_rows(namespace, LegQuery(sql, (*values, *bound, *limits), prepared=not known))

    def _find_resting(self, namespace: Namespace, numbers: Sequence[int]) -> list[int]:
        """Return the numbers of rows that rest on turns with these numbers."""
        return [n for (n,) in self._ask(namespace, LegQuery(_RESTING_ON, (array("int8", numbers),)), near=0)[0]]

    def _ask_rows(self, namespace: Namespace, asked: LegQuery) -> list[SurroundingRow]:
        """Return rows in the order of writing. The statement selects :data:`_CONTENT` last."""
        rows = self._ask(namespace, asked, near=0)[0]
        rows.sort(key=itemgetter(0))
        return list(map(_decode_surrounding, rows))

    def _vector_schema(self) -> str | None:
        known = _schemas.get(self._connection) or vector_schema(self._connection)
        if known is not None:
            _schemas[self._connection] = known
        return known

    def resting(self, namespace: Namespace, numbers: Sequence[int], open_: OpenRows) -> RestingRows:
        names = scope_values(namespace)
        found = self._find_resting(namespace, numbers)
        resting = self._ask(namespace, LegQuery(_RESTING, (*names, found)), near=0)[0] if found else []
        active = [n for n, is_active in resting if is_active]
        gone = [n for n, is_active in resting if not is_active]
        if not active:
            return RestingRows(NO_ROWS, gone)
        scope = NamespaceLiterals(namespace)
        condition, values = open_sql(open_)
        source = f"unnest(%s::int8[]) AS w(n) JOIN memwarden.memories m ON {scope.of('m')} AND m.n = w.n"
        asked = self._leg(scope, source, (active,), condition, values, " AND m.state = 'active'")
        return RestingRows(unpack_row(self._ask(namespace, asked, near=0)[0][0]), gone)

    def lacking(self, namespace: Namespace, after: int, limit: int, statements: bytes | None) -> list[tuple[int, str]]:
        bound = (*scope_values(namespace), after, *([statements] * 3), limit)
        return [(n, decode_text(memory_id)) for n, memory_id in self._ask(namespace, LegQuery(_LACKING, bound))[0]]

    def stating(self, namespace: Namespace, after: int, limit: int, open_: OpenRows) -> list[tuple[int, int, bytes]]:
        condition, values = open_sql(open_)
        sql = (
            f"SELECT m.n, m.created_at, s.statements FROM memwarden.memories m {_SIGNALS} WHERE {_M} "
            f"AND m.n > %s::int8 AND m.state = 'active' AND s.statements <> '' AND {condition} "
            "ORDER BY m.n LIMIT %s::int8"
        )
        rows = self._ask(namespace, LegQuery(sql, (*scope_values(namespace), after, *values, limit)))[0]
        return [(n, said, bytes(packed)) for n, said, packed in rows]

    def _near(
        self, scope: NamespaceLiterals, legs: SearchLegs, schema: str, open_: str, values: Values, keep: bool
    ) -> LegQuery:
        assert legs.vector is not None
        asked = str(list(struct.unpack(f"<{len(legs.vector) // 2}e", legs.vector)))
        half = f'"{schema}".halfvec({len(legs.vector) // 2})'
        # A number as a literal: without it a kept plan counts on thousands of rows.
        order = f'ORDER BY (v.vector::{half}) OPERATOR("{schema}".<#>) %s::{half} LIMIT {legs.near}'
        return self._leg(
            scope,
            f"memwarden.vectors v JOIN memwarden.memories m ON {scope.of('m')} AND m.n = v.n",
            (),
            "true",
            (),
            f" AND {scope.of('v')} AND m.state = 'active' AND {open_} {order}",
            (*values, asked),
            prepared=keep,
        )

    def _holding(self, namespace: Namespace, legs: SearchLegs, open_: str, values: Values, keep: bool) -> LegQuery:
        scope = NamespaceLiterals(namespace)
        source, signals = (
            "memwarden.places_with(%s, %s) w",
            f"JOIN memwarden.signals s ON {scope.of('s')} AND s.ctid = w.place",
        )
        bound: Values = (legs.words, legs.holding)
        if self._on_citus:
            found = self._ask(namespace, LegQuery(_WITH_WORDS, bound), near=0)[0]
            places = array("int8", [n for (n,) in found])
            source, signals, bound = "unnest(%b::int8[]) AS w(n)", scope.signals, (places,)
        source += f" JOIN memwarden.memories m ON {scope.of('m')} AND m.n = w.n"
        tail = f" AND m.state = 'active' AND {open_}"
        return self._leg(scope, source, bound, "true", (), tail, values, prepared=keep, signals=signals)

    def _newest(self, scope: NamespaceLiterals, legs: SearchLegs, open_: str, values: Values, keep: bool) -> LegQuery:
        known, limits = known_sql(legs.open.known)
        last = "" if legs.open.known is None else f" AND n <= {legs.open.known.last}"
        # Also those that are gone.
        newest = f"(SELECT * FROM memwarden.memories WHERE {scope.of()}{last} ORDER BY n DESC LIMIT {legs.newest}) m"
        return self._leg(scope, newest, (), open_, values, f" AND m.state = 'active'{known}", limits, prepared=keep)

    def _timely(self, scope: NamespaceLiterals, legs: SearchLegs, open_: str, values: Values) -> LegQuery:
        item = (
            f"(SELECT m.* FROM memwarden.memories m {scope.signals} WHERE {scope.of('m')} AND m.state = 'active' "
            # An index answers the first condition: no clock is a day away from UTC. Of the second, in this form, the
            # planner expects many rows to pass.
            "AND m.created_at BETWEEN %s::int8 - 86400000000 AND %s::int8 + 86400000000 AND "
            "(m.created_at + 60000000 * m.utc_offset NOT BETWEEN %s::int8 AND %s::int8) IS NOT TRUE "
            f"AND {open_} ORDER BY m.created_at DESC LIMIT %s::int8)"
        )
        bound = [value for span in legs.times for value in (*span, *span, *values, legs.in_time)]
        return self._leg(scope, f"({' UNION '.join([item] * len(legs.times))}) m", bound, "true", ())

    def _always(self, scope: NamespaceLiterals, legs: SearchLegs, open_: str, values: Values, keep: bool) -> LegQuery:
        named, categories = condition_sql((Condition("category", "$in", legs.always),))
        if keep:
            named, categories = name_texts(named, categories)
        order = f"ORDER BY m.pinned DESC, m.importance DESC, m.n DESC LIMIT {MAX_ALWAYS}"
        tail = f" AND {scope.of('m')} AND m.state = 'active'{named} AND {open_} {order}"
        return self._leg(scope, "memwarden.memories m", (), "true", (), tail, (*categories, *values), prepared=keep)

    def _filter(self, scope: NamespaceLiterals, legs: SearchLegs, open_: str, values: Values) -> LegQuery:
        tail = f" AND {scope.of('m')} AND m.state = 'active' AND {open_} ORDER BY m.n DESC LIMIT %s::int8"
        return self._leg(scope, "memwarden.memories m", (), "true", (), tail, (*values, legs.filtered))

    def _leg(
        self,
        scope: NamespaceLiterals,
        source: str,
        bound: Values,
        open_: str,
        values: Values,
        tail: str = "",
        tail_values: Values = (),
        *,
        prepared: bool = False,
        signals: str | None = None,
    ) -> LegQuery:
        """Return a query for the rows of a source, whose ``m`` are memories and ``s`` their signals.

        signals: how these are joined. None: by number.
        """
        sql = (
            f"SELECT {_COLUMNS} FROM (SELECT m.n, m.created_at AS said, m.utc_offset, {open_} AS open, "
            f"m.channel = 'turn' AS turn, s.flags, m.thread_id, m.name, s.terms, s.days, s.vector, "
            f"{_PASSAGES} FROM {source} {signals or scope.signals} WHERE true{tail}) r"
        )
        return LegQuery(sql, (*values, *bound, *tail_values), prepared)

    def _ask(self, namespace: Namespace, *questions: LegQuery, near: int | None = None) -> list[list[tuple[Any, ...]]]:
        """Return the rows of each statement, all of one snapshot. near: vectors to be found; None plans as usual."""
        with self._connection.pipeline():
            if near is None or self._on_citus:
                begin(self._connection, namespace, self._seconds, TransactionKind.READ)
                for name, value in _SCAN.items() if near is not None else ():
                    # Not by set_config, which Citus does not pass on to its nodes.
                    self._connection.execute(f"SET LOCAL {name} = {value}".encode())
                if near:
                    self._connection.execute(f"SET LOCAL hnsw.ef_search = {_count_visited(near)}".encode())
            else:
                self._connection.execute(TransactionKind.READ.value)
                reach = str(_count_visited(near))
                limits = (f"{int(self._seconds * 1000)}ms", *scope_values(namespace), reach)
                self._connection.execute(_SETTINGS, limits, prepare=True)
            asked = [
                self._connection.execute(item.sql.encode(), item.values, binary=True, prepare=item.prepared)
                for item in questions
            ]
            self._connection.execute(b"COMMIT")
        return [item.fetchall() for item in asked]


def _count_visited(near: int) -> int:
    """Return how many vectors a scan keeps in view. It goes on until enough rows came, sooner than one wide scan."""
    return max(40, min(near // 2, 1_000))


def _decode_surrounding(row: tuple[Any, ...]) -> SurroundingRow:
    index_row, content = row[:_INDEX_WIDTH], row[_INDEX_WIDTH + 1 :]
    if index_row[-1]:
        content = tuple(map(decode_text, content))
    return SurroundingRow(decode_index_row(index_row), row[_INDEX_WIDTH], content)


def _around_values(numbers: Sequence[int], seeds: Sequence[tuple[str, int, int]]) -> Values:
    """Return the values that :data:`_AROUND` binds. psycopg's own lists take a millisecond of a question."""
    threads, seeded, reaches = zip(*seeds, strict=True) if seeds else ((), (), ())
    return (
        array("int8", numbers),
        array("text", map(encode_text, threads)),
        array("int8", seeded),
        array("int8", reaches),
    )


def open_sql(open_: OpenRows) -> tuple[str, list[Any]]:
    """Return the condition that open rows fulfil, over memories ``m`` and signals ``s``, and the values to bind."""
    conditions, values = condition_sql(open_.where)
    known, limits = known_sql(open_.known)
    parts, values = ["true" + conditions + known], [*values, *limits]
    if open_.without:
        parts.append(
            f"(s.flags & {int(open_.without)} > 0) IS NOT TRUE"
        )  # in this form the planner expects most rows to pass
    if not open_.cards:
        tags = ", ".join(f"'{{{tag}}}'" for tag in STANDING_IN)
        parts.append(f"NOT (coalesce(actor_id = '{EXTRACTED_BY}', false) AND tags IN ({tags}))")
    return f"(({' AND '.join(parts)}) IS TRUE)", values


def name_texts(condition: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return a condition with its texts as literals, and the other values.

    The server expects that an unknown text leaves no row, and keeps no plan for that.
    """
    first, *rest = condition.split("%s")
    parts, kept = [first], list[Any]()
    for value, part in zip(values, rest, strict=True):
        if isinstance(value, str):
            parts.append(quote_text(value).replace("%", "%%"))
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            parts.append(f"ARRAY[{', '.join(map(quote_text, value))}]".replace("%", "%%"))
        else:
            parts.append("%s")
            kept.append(value)
        parts.append(part)
    return "".join(parts), kept


def known_sql(known: KnownRows | None) -> tuple[str, list[Any]]:
    """Return the condition of rows that were known, over memories ``m``, with AND before it, and the values to bind."""
    if known is None:
        return "", []
    if known.until is None:
        return " AND m.rev <= %s::int8", [known.rev]
    written = "(m.rev <= %s::int8 OR m.n > %s::int8 AND m.state = 'active')"
    return (
        f" AND coalesce(m.valid_from, m.created_at) <= %s::int8 AND {written}",
        [known.until, known.rev, known.last],
    )


def unpack_row(row: Sequence[Any]) -> PackedColumns:
    """Return the packed columns of a result row of :data:`_COLUMNS`."""
    n, said, marks, threads, names, words, others, *signals = row
    held = len(n) // 8
    lengths = b"".join((words, others))
    return PackedColumns(n, said, marks, _texts(threads, held), _texts(names, held), lengths, *signals)


def _texts(joined: str, rows: int) -> list[str | None]:
    if not rows:
        return []
    parts = joined.split(_BETWEEN)
    if joined.count("\x01") == len(parts) - 1:
        return list(parts)
    return [None if part == _NONE else decode_text(part) for part in parts]
