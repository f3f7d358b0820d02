"""Encodes records as rows of the database and decodes them.

PostgreSQL's text cannot hold U+0000, and memwarden's can. It is stored as U+0001 U+0002, and U+0001 as U+0001 U+0003:
no other texts become longer, and two texts compare as before. The column ``escaped`` of memories says whether any of
their texts is stored so. Elsewhere every text is checked.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array as number_array
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from psycopg import Connection, DataError
from psycopg.adapt import Dumper
from psycopg.pq import Format

from memwarden.clock import microseconds, moment
from memwarden.errors import InvalidFilter, InvalidInput
from memwarden.filters import (
    BOOLEAN,
    IN_ANY_CASE,
    ITEM_FIELDS,
    MANY,
    NUMBER,
    TEXT,
    TIME,
    UNSET_OR_AFTER,
    WRITTEN,
    Condition,
    Where,
    is_inside,
    sort_field,
    sort_of,
)
from memwarden.records import (
    EXTRACTED_BY,
    MATTERED_LITTLE,
    QUOTATION,
    UNDOES,
    Edge,
    IndexRow,
    JournalEntry,
    Memory,
    Namespace,
    Put,
    Relation,
)
from memwarden.stores.shared.decide import join_source_key
from memwarden.stores.shared.sql_values import COMPARE, NEVER_UNSET, join_conditions, signal_values

# The columns that hold what the caller wrote, and their types; ``memories`` and ``versions`` both have them.
CONTENT = {
    "created_at": "int8",
    "updated_at": "int8",
    "channel": "text",
    "kind": "text",
    "category": "text",
    "importance": "float8",
    "pinned": "bool",
    "tags": "text[]",
    "characters": "text[]",
    "source": "text",
    "sources": "text[]",
    "role": "text",
    "name": "text",
    "user_id": "text",
    "agent_id": "text",
    "run_id": "text",
    "actor_id": "text",
    "thread_id": "text",
    "valid_from": "int8",
    "valid_to": "int8",
    "trust": "text",
    "token_cost": "int8",
    "summary": "text",
    "context": "text",
    "payload": "text",
    "text": "text",
    "utc_offset": "int8",
    "escaped": "bool",
}

# The columns of :class:`memwarden.records.Signals`.
SIGNALS = {
    "flags": "int8",
    "terms": "bytea",
    "vector": "bytea",
    "days": "bytea",
    "pieces": "bytea",
    "statements": "bytea",
    "passages": "bytea",
}

# Separates the texts of a list that travels as a single text. No stored text holds it. Decoding arrays to Python
# lists would take half of the time of a scan.
_BETWEEN = "\x01\x04"


def _list_column(name: str) -> str:
    return f"array_to_string(nullif(m.{name}, '{{}}'), '{_BETWEEN}')"


# 1: active, -1: forgotten (:meth:`memwarden.records.JournalEntry.takes_back`), else neither. The entry of a row's
# revision tells what removed it. What is purged has sources if it was forgotten.
_STATE_NOW = (
    "CASE m.state WHEN 'active' THEN 1 WHEN 'soft_deleted' THEN (SELECT -1 FROM memwarden.journal j "
    "WHERE j.tenant = m.tenant AND j.namespace = %s AND j.seq = m.rev AND j.old_version IS NOT NULL "
    f"AND (j.event NOT IN {tuple(map(str, MATTERED_LITTLE))} OR m.valid_to IS NOT NULL "
    f"AND NOT (m.actor_id IS NOT DISTINCT FROM '{EXTRACTED_BY}' AND m.tags = '{{{QUOTATION}}}')) "
    f"AND position('\"{UNDOES}\"' IN coalesce(j.meta, '')) = 0) "
    "WHEN 'purged' THEN CASE WHEN m.sources <> '{}' THEN -1 END ELSE 0 END"
)
# The columns of an IndexRow, in its order, from ``memories m`` and ``signals s``, and whether it is escaped. They bind
# the path of the namespace: Citus does not see through a subquery that the journal is on the node of the memories.
INDEX_COLUMNS = (
    f"m.n, m.id, {_STATE_NOW}, s.terms, s.vector, s.flags, s.days, s.pieces, s.statements, s.passages, m.created_at, "
    f"m.updated_at, m.channel, m.kind, m.category, m.importance, m.pinned, {_list_column('tags')}, "
    f"{_list_column('characters')}, "
    f"m.source, {_list_column('sources')}, m.role, m.name, m.user_id, m.agent_id, m.run_id, m.actor_id, m.thread_id, "
    "m.valid_from, m.valid_to, m.trust, m.utc_offset, m.escaped"
)

# The same of rows that are known to be active. They bind nothing.
ACTIVE_COLUMNS = INDEX_COLUMNS.replace(_STATE_NOW, "1")

# Epoch of a new namespace: no cache may know it from somebody of the same name who was erased.
FIRST_EPOCH = "(SELECT coalesce(max(value::int8), 0) FROM memwarden.meta WHERE key = 'erasures')"
# Counted once for the database: the role of the store sees the rows of a namespace only, so it cannot change them all.
MOVES = "(SELECT coalesce(max(value::int8), 0) FROM memwarden.meta WHERE key = 'moves')"

Values = tuple[Any, ...]


class PostgresRow(NamedTuple):
    """A Put as PostgreSQL will take it.

    source_key: thread and source key, in their stored form. signals: None to keep the stored signals.
    """

    put: Put
    source_key: str | None
    content: Values
    signals: Values | None


def encode_put(put: Put, namespace: Namespace) -> PostgresRow:
    """Encode a put. Raises InvalidInput for a memory of another namespace or with unstorable values."""
    memory = put.memory
    if memory.namespace != namespace:
        raise InvalidInput(f"memory {memory.id!r} is of {memory.namespace}, the batch of {namespace}")
    try:
        key = join_source_key(memory.thread_id, put.source_key)
        content = _content(memory)
        _check_text(key, memory.id, *content)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"memory {memory.id!r} cannot be stored: {error}") from error
    return PostgresRow(put, encode_text(key), content, None if put.signals is None else signal_values(put.signals))


def encode_text(value: Any) -> Any:
    """Return a text, or a list of texts, in its stored form. Other values unchanged."""
    if isinstance(value, str):
        return _escape(value) if "\x00" in value or "\x01" in value else value
    return [encode_text(item) for item in value] if isinstance(value, list) else value


def decode_text(value: Any) -> Any:
    """Return the value that :func:`encode_text` was given."""
    if isinstance(value, str):
        return value.replace("\x01\x02", "\x00").replace("\x01\x03", "\x01") if "\x01" in value else value
    return [decode_text(item) for item in value] if isinstance(value, list) else value


def array_text(values: Iterable[str]) -> str:
    """Return texts, already in their stored form, as a single text, from which :func:`select_list` makes an array."""
    return "".join(_BETWEEN + value for value in values)


def decode_memory(namespace: Namespace, row: Values) -> Memory:
    """Return the memory of a row of id, version, state, purge_at and :data:`CONTENT`."""
    if row[-1]:
        row = tuple(map(decode_text, row))
    (
        identity,
        version,
        state,
        purge_at,
        created_at,
        updated_at,
        channel,
        kind,
        category,
        importance,
        pinned,
        tags,
        characters,
        source,
        sources,
        role,
        name,
        user_id,
        agent_id,
        run_id,
        actor_id,
        thread_id,
        valid_from,
        valid_to,
        trust,
        token_cost,
        summary,
        context,
        payload,
        text,
        utc_offset,
        _,
    ) = row
    return Memory(
        id=identity,
        namespace=namespace,
        text=text,
        created_at=moment(created_at),
        updated_at=moment(updated_at),
        channel=channel,
        kind=kind,
        category=category,
        importance=importance,
        tags=tuple(tags),
        pinned=pinned,
        source=source,
        sources=tuple(sources),
        summary=summary,
        context=context,
        characters=tuple(characters),
        payload=None if payload is None else json.loads(payload),
        token_cost=token_cost,
        role=role,
        name=name,
        user_id=user_id,
        agent_id=agent_id,
        run_id=run_id,
        actor_id=actor_id,
        thread_id=thread_id,
        valid_from=None if valid_from is None else moment(valid_from),
        valid_to=None if valid_to is None else moment(valid_to),
        state=state,
        version=version,
        purge_at=None if purge_at is None else moment(purge_at),
        trust=trust,
        utc_offset=utc_offset,
    )


def decode_index_row(row: Values) -> IndexRow:
    """Return the IndexRow of a row of :data:`INDEX_COLUMNS`."""
    if row[2] == 1 and row[17] is row[18] is row[20] is None and not row[-1]:  # most rows, in half the time
        return IndexRow._make((*row[:2], True, *row[3:17], (), (), row[19], (), *row[21:-1], False))
    tags, characters, sources = _list(row[17]), _list(row[18]), _list(row[20])
    if row[-1]:
        row = tuple(map(decode_text, row))
        tags, characters, sources = (tuple(map(decode_text, item)) for item in (tags, characters, sources))
    live, forgotten = row[2] == 1, row[2] == -1
    return IndexRow._make((*row[:2], live, *row[3:17], tags, characters, row[19], sources, *row[21:-1], forgotten))


def decode_change(namespace: Namespace, row: Values) -> JournalEntry:
    """Return the journal entry of a row of :data:`JOURNAL_COLUMNS`."""
    seq, event, memory_id, old, new, actor, thread_id, at, channel, step, meta = map(decode_text, row)
    decided_by = None if meta is None else json.loads(meta)
    return JournalEntry(
        seq, namespace, event, memory_id, old, new, actor, thread_id, moment(at), channel, step, decided_by
    )


def decode_relation(row: Values) -> Relation:
    """Return the relation of a row of from, to, type, strength and created_at."""
    from_id, to_id, kind, strength, created_at = map(decode_text, row)
    return Relation(from_id, to_id, kind, strength, moment(created_at))


def decode_edge(row: Values) -> Edge:
    """Return the edge of a row of from, to, type, strength and whether it is live."""
    return Edge._make(map(decode_text, row))


def _list(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(text.split(_BETWEEN))


def _escape(text: str) -> str:
    return text.replace("\x01", "\x01\x03").replace("\x00", "\x01\x02")


def _check_text(*values: Any) -> None:
    for value in values:
        if isinstance(value, str):
            value.encode()


def _content(memory: Memory) -> Values:
    given = [
        str(memory.channel),
        str(memory.kind),
        str(memory.category),
        memory.source,
        memory.role,
        memory.name,
        memory.user_id,
        memory.agent_id,
        memory.run_id,
        memory.actor_id,
        memory.thread_id,
        memory.summary,
        memory.context,
        memory.text,
        str(memory.trust),
        list(memory.tags),
        list(memory.characters),
        list(memory.sources),
    ]
    texts = encode_text(given)
    channel, kind, category, source, role, name, user, agent, run, actor, thread, *rest = texts
    summary, context, text, trust, *lists = rest
    tags, characters, sources = map(array_text, lists)
    return (
        microseconds(memory.created_at),
        microseconds(memory.updated_at),
        channel,
        kind,
        category,
        float(memory.importance),
        bool(memory.pinned),
        tags,
        characters,
        source,
        sources,
        role,
        name,
        user,
        agent,
        run,
        actor,
        thread,
        None if memory.valid_from is None else microseconds(memory.valid_from),
        None if memory.valid_to is None else microseconds(memory.valid_to),
        trust,
        memory.token_cost,
        summary,
        context,
        None if memory.payload is None else json.dumps(dict(memory.payload), ensure_ascii=False, allow_nan=False),
        text,
        memory.utc_offset,
        texts != given or encode_text(memory.id) != memory.id,
    )


_TYPES = {TEXT: "text", MANY: "text", NUMBER: "float8", BOOLEAN: "bool", TIME: "int8"}


def condition_sql(where: Where) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind. Raises InvalidFilter."""
    return join_conditions(where, _translate)


def order_sql(order_by: str, descending: bool) -> str:
    """Return the order of :meth:`memwarden.stores.protocol.Store.find`; ``n`` grows in the order of writing."""
    field = sort_field(order_by)
    direction = "DESC" if descending else "ASC"
    if field == WRITTEN:
        return f"n {direction}"
    # Only where NULL can occur: PostgreSQL reads an index backwards only for exactly the index's own order.
    unset_last = "" if field in NEVER_UNSET else " NULLS LAST"
    return f"{field} {direction}{unset_last}, n {direction}"


def _translate(condition: Condition) -> tuple[str, list[Any]]:
    field, op, wanted, _ = condition
    if field not in ITEM_FIELDS:
        raise InvalidFilter(f"unknown filter field {field!r}")
    if is_inside(condition):
        return _translate_inside(condition)
    kind, many = _TYPES[ITEM_FIELDS[field]], ITEM_FIELDS[field] == MANY
    if op == "$in":
        any_of = f"{field} && %s::text[]" if many else f"{field} = ANY(%s::{kind}[])"
        return any_of, [[_bind(item) for item in wanted]]
    if op == IN_ANY_CASE:
        any_of = f"EXISTS (SELECT 1 FROM unnest({field}) AS c WHERE c = ANY(%s::text[]) OR lower(c) = ANY(%s::text[]))"
        return any_of, [list(wanted), list(wanted)]
    if many:
        raise InvalidFilter(f"operator {op!r} does not apply to {field!r}")
    if op == UNSET_OR_AFTER:
        return f"({field} IS NULL OR {field} > %s::{kind})", [_bind(wanted)]
    if op == "$eq":
        return (f"{field} IS NULL", []) if wanted is None else (f"{field} = %s::{kind}", [_bind(wanted)])
    if op == "$ne":
        return f"{field} IS DISTINCT FROM %s::{kind}", [_bind(wanted)]
    if op in COMPARE:
        return f"{field} {COMPARE[op]} %s::{kind}", [_bind(wanted)]
    raise InvalidFilter(f"operator {op!r} does not apply to {field!r}")


# jsonb refuses a NUL, which no caller's metadata holds but an item of a task may.
_METADATA = "CASE WHEN payload IS NOT NULL THEN replace(payload, E'\\\\u0000', E'\\\\ufffd')::jsonb END"
_TESTS_INSIDE = {
    BOOLEAN: ("CASE WHEN jsonb_typeof(e) = 'boolean' THEN e::bool {} END", "bool"),
    NUMBER: ("CASE WHEN jsonb_typeof(e) = 'number' THEN e::numeric {} END", "numeric"),
    TEXT: ("CASE WHEN jsonb_typeof(e) = 'string' THEN (e #>> '{{}}') COLLATE \"C\" {} END", "text"),
}


def _translate_inside(condition: Condition) -> tuple[str, list[Any]]:
    _, op, wanted, path = condition
    # Not #>, which would count into a list.
    place = f"({_METADATA}{' -> %s::text' * len(path)})"
    values = (
        f"EXISTS (SELECT 1 FROM (SELECT {place} AS at) AS p, jsonb_array_elements(CASE jsonb_typeof(at) "
        "WHEN 'array' THEN at ELSE jsonb_build_array(at) END) AS v(e) "
        "WHERE jsonb_typeof(e) IN ('boolean', 'number', 'string')"
    )
    if wanted is None:
        return f"{'NOT ' if op == '$eq' else ''}{values})", [*path]
    if op in COMPARE:
        test, kind = _TESTS_INSIDE[sort_of(wanted)]
        return f"{values} AND {test.format(f'{COMPARE[op]} %s::{kind}')})", [*path, _bind_inside(wanted)]
    anything = list(wanted) if op == "$in" else [wanted]
    tests, bound = [], []
    for sort, (test, kind) in _TESTS_INSIDE.items():
        if some := [_bind_inside(item) for item in anything if sort_of(item) == sort]:
            tests.append(test.format(f"= ANY(%s::{kind}[])"))
            bound.append(some)
    return f"{'NOT ' if op == '$ne' else ''}{values} AND ({' OR '.join(tests) or 'false'}))", [*path, *bound]


def _bind_inside(value: Any) -> Any:
    return Decimal(repr(value)) if sort_of(value) == NUMBER else value


def _bind(value: Any) -> Any:
    return microseconds(value) if isinstance(value, datetime) else encode_text(value)


_HEAD = struct.Struct("!iiIii")  # dimensions, has nulls, type of the elements, length, lower bound
_EMPTY = struct.Struct("!iiI")
_LENGTH = struct.Struct("!i")
_NULL = _LENGTH.pack(-1)


class _Column(list[Any]):
    """Values of the same type. None is NULL."""


class _ColumnDumper(Dumper):
    format = Format.BINARY
    element: int
    write: Callable[[Any], bytes]
    packed: str | None

    def dump(self, obj: Sequence[Any]) -> bytes:
        if not obj:
            return _EMPTY.pack(0, 0, self.element)
        if self.packed is not None and (body := self._dump_packed(obj, self.packed)) is not None:
            return body
        parts = [_HEAD.pack(1, 1, self.element, len(obj), 1)]
        write, length = type(self).write, _LENGTH.pack
        try:
            for value in obj:
                if value is None:
                    parts.append(_NULL)
                else:
                    data = write(value)
                    parts += (length(len(data)), data)
        except (struct.error, TypeError, AttributeError) as error:
            raise DataError(f"a value that this column cannot hold: {error}") from error
        return b"".join(parts)

    def _dump_packed(self, obj: Sequence[Any], code: str) -> bytes | None:
        """Return numbers as one array, a byte of all of them at a time. None if a value is of another kind."""
        try:
            numbers = number_array(code, obj)
        except (TypeError, ValueError, OverflowError):
            return None
        if sys.byteorder == "little":
            numbers.byteswap()
        values, size, head = numbers.tobytes(), numbers.itemsize, _LENGTH.size
        body = bytearray((head + size) * len(obj))
        body[head - 1 :: head + size] = bytes([size]) * len(obj)
        for place in range(size):
            body[head + place :: head + size] = values[place::size]
        return _HEAD.pack(1, 1, self.element, len(obj), 1) + body


def _kind(
    element: int, array: int, write: Callable[[Any], bytes], packed: str | None = None
) -> tuple[type[_Column], type[_ColumnDumper]]:
    """Return the types of a column and its dumper. packed: code of its numbers in the module array."""
    body = {"element": element, "oid": array, "write": staticmethod(write), "packed": packed}
    return type("_Values", (_Column,), {}), type("_ValuesDumper", (_ColumnDumper,), body)


_KINDS = {
    "text": _kind(25, 1009, str.encode),
    "int8": _kind(20, 1016, struct.Struct("!q").pack, "q"),
    "float8": _kind(701, 1022, struct.Struct("!d").pack, "d"),
    "bool": _kind(16, 1000, struct.Struct("!?").pack),
    "bytea": _kind(17, 1001, bytes),
}


def register_dumpers(connection: Connection[Any]) -> None:
    """Register the dumpers of :func:`array` and :func:`arrays` with a connection."""
    for kind, dumper in _KINDS.values():
        connection.adapters.register_dumper(kind, dumper)


def array(kind: str, values: Iterable[Any]) -> list[Any]:
    """Return values of the same type as a single parameter, to be bound with ``%b``."""
    return _KINDS[kind][0](values)


def unnest(columns: Mapping[str, str]) -> str:
    """Return the SQL that makes rows ``u`` of the parameters of :func:`arrays`. Lists of text come as text."""
    arrays = ", ".join(f"%b::{_element(kind)}[]" for kind in columns.values())
    return f"unnest({arrays}) AS u ({', '.join(columns)})"


def select_list(columns: Mapping[str, str]) -> list[str]:
    """Return the columns of ``u`` for a SELECT, with lists made of their texts.

    Not by a cast: Citus takes no function in an UPDATE that depends on settings, as PostgreSQL says a cast does.
    """
    return [
        f"u.{name}" if kind == _element(kind) else f"coalesce((string_to_array(u.{name}, '{_BETWEEN}'))[2:], '{{}}')"
        for name, kind in columns.items()
    ]


def arrays(columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the rows (not empty) as a parameter per column."""
    return [
        _KINDS[_element(kind)][0](values)
        for kind, values in zip(columns.values(), zip(*rows, strict=True), strict=True)
    ]


def _element(kind: str) -> str:
    return kind.removesuffix("[]")
