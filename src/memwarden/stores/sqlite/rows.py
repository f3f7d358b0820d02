"""Encodes records as rows of the SQLite file and decodes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from memwarden.clock import microseconds, moment
from memwarden.errors import InvalidFilter, InvalidInput
from memwarden.filters import (
    BOOLEAN,
    IN_ANY_CASE,
    ITEM_FIELDS,
    MANY,
    NUMBER,
    TEXT,
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
    Channel,
    IndexRow,
    JournalEntry,
    Memory,
    Namespace,
    Put,
    Relation,
)
from memwarden.stores.shared.decide import TASKS, join_source_key
from memwarden.stores.shared.sql_values import COMPARE, NEVER_UNSET, join_conditions, signal_values

# The function of each connection that takes capitals away: SQLite's own knows ASCII alone.
FOLD = "fold_case"
# The columns that hold what the caller wrote; ``memories`` and ``versions`` both have them.
CONTENT = (
    "created_at",
    "updated_at",
    "channel",
    "kind",
    "category",
    "importance",
    "pinned",
    "tags",
    "characters",
    "source",
    "sources",
    "role",
    "name",
    "user_id",
    "agent_id",
    "run_id",
    "actor_id",
    "thread_id",
    "valid_from",
    "valid_to",
    "token_cost",
    "summary",
    "context",
    "payload",
    "text",
    "trust",
    "utc_offset",
)


def list_text(values: Iterable[str]) -> str:
    """Return texts as JSON with an element per line (see the first migration for why)."""
    lines = ",\n".join(map(encode_basestring, values))
    return f"[\n{lines}\n]" if lines else "[]"


# 1: active, -1: forgotten (:meth:`memwarden.records.JournalEntry.takes_back`), else neither. The entry of a row's
# revision tells what removed it. What is purged has sources if it was forgotten.
_STATE_NOW = (
    "CASE m.state WHEN 'active' THEN 1 WHEN 'soft_deleted' THEN (SELECT -1 FROM journal j WHERE j.ns = m.ns "
    f"AND j.seq = m.rev AND j.old_version IS NOT NULL "
    f"AND (j.event NOT IN {tuple(map(str, MATTERED_LITTLE))} OR m.valid_to IS NOT NULL "
    f"AND NOT (m.actor_id IS '{EXTRACTED_BY}' AND m.tags = '{list_text((QUOTATION,))}')) "
    f"AND instr(coalesce(j.meta, ''), '\"{UNDOES}\"') = 0) "
    "WHEN 'purged' THEN CASE WHEN m.sources <> '[]' THEN -1 END ELSE 0 END"
)
# The columns of an IndexRow, in its order, from ``memories m`` and ``signals s``.
INDEX_COLUMNS = (
    f"m.row & 4294967295, m.id, {_STATE_NOW}, s.terms, s.vector, s.flags, s.days, s.pieces, s.statements, "
    "s.passages, m.created_at, "
    "m.updated_at, m.channel, m.kind, m.category, m.importance, m.pinned, m.tags, m.characters, m.source, m.sources, "
    "m.role, m.name, m.user_id, m.agent_id, m.run_id, m.actor_id, m.thread_id, m.valid_from, "
    "m.valid_to, m.trust, m.utc_offset"
)


# Epoch of a new namespace: no cache may know it from somebody of the same name who was erased.
FIRST_EPOCH = "(SELECT coalesce(max(value), 0) FROM meta WHERE key = 'erasures')"

# Which rows of ``versions`` may be removed: :func:`memwarden.stores.shared.decide.may_leave`.
MAY_LEAVE = (
    f"(channel = '{Channel.STATE}' OR (SELECT path FROM namespaces WHERE no = versions.row >> 32) LIKE '{TASKS}%')"
)

Values = tuple[Any, ...]


class SqliteRow(NamedTuple):
    """A Put as SQLite will take it.

    source_key: text that stands for its thread and source key, or None. signals: None to keep the stored signals.
    """

    put: Put
    source_key: str | None
    content: Values
    signals: Values | None


def encode_put(put: Put, namespace: Namespace) -> SqliteRow:
    """Encode a put. Raises InvalidInput for a memory of another namespace or with unstorable values."""
    memory = put.memory
    if memory.namespace != namespace:
        raise InvalidInput(f"memory {memory.id!r} is of {memory.namespace}, the batch of {namespace}")
    try:
        content = _content(memory)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"memory {memory.id!r} cannot be stored: {error}") from error
    signals = put.signals
    return SqliteRow(
        put,
        join_source_key(memory.thread_id, put.source_key),
        content,
        None if signals is None else signal_values(signals),
    )


def list_needle(value: str) -> str:
    """Return the text that :func:`list_text` contains exactly if ``value`` is an element."""
    return "\n" + encode_basestring(value)


def decode_memory(namespace: Namespace, row: Values) -> Memory:
    """Return the memory of a row of id, version and :data:`CONTENT`, as active."""
    payload: Mapping[str, Any] | None = None if row[25] is None else json.loads(row[25])
    return Memory(
        id=row[0],
        namespace=namespace,
        text=row[26],
        created_at=moment(row[2]),
        updated_at=moment(row[3]),
        channel=row[4],
        kind=row[5],
        category=row[6],
        importance=row[7],
        tags=_list(row[9]),
        pinned=row[8] == 1,
        source=row[11],
        sources=_list(row[12]),
        summary=row[23],
        context=row[24],
        characters=_list(row[10]),
        payload=payload,
        token_cost=row[22],
        role=row[13],
        name=row[14],
        user_id=row[15],
        agent_id=row[16],
        run_id=row[17],
        actor_id=row[18],
        thread_id=row[19],
        valid_from=None if row[20] is None else moment(row[20]),
        valid_to=None if row[21] is None else moment(row[21]),
        version=row[1],
        trust=row[27],
        utc_offset=row[28],
    )


def decode_any_state(namespace: Namespace, row: Values) -> Memory:
    """Return the memory of such a row that ends with state and purge_at."""
    state, purge_at = row[-2:]
    return replace(decode_memory(namespace, row), state=state, purge_at=None if purge_at is None else moment(purge_at))


def decode_index_row(row: Values) -> IndexRow:
    """Return the IndexRow of a row of :data:`INDEX_COLUMNS`."""
    live, pinned, forgotten = row[2] == 1, row[16] == 1, row[2] == -1
    lists = (_list(row[17]), _list(row[18]), row[19], _list(row[20]))
    return IndexRow._make((*row[:2], live, *row[3:16], pinned, *lists, *row[21:], forgotten))


def decode_change(namespace: Namespace, row: Values) -> JournalEntry:
    """Return the journal entry of a row of :data:`JOURNAL_COLUMNS`."""
    seq, event, memory_id, old, new, actor, thread_id, at, channel, step, meta = row
    told = None if meta is None else json.loads(meta)
    return JournalEntry(seq, namespace, event, memory_id, old, new, actor, thread_id, moment(at), channel, step, told)


def decode_relation(row: Values) -> Relation:
    """Return the relation of a row of from, to, type, strength and created_at."""
    from_id, to_id, kind, strength, created_at = row
    return Relation(from_id, to_id, kind, strength, moment(created_at))


def _list(text: str) -> tuple[str, ...]:
    if text == "[]":
        return ()
    if "\\" in text:
        return tuple(json.loads(text))
    # Nothing is escaped, so every quote is a border: three times as fast as the parser, on the path of every scan.
    return tuple(text[3:-3].split('",\n"'))


def _content(memory: Memory) -> Values:
    # str() and float() also turn enum members and integers into the exact types that sqlite3 binds fastest.
    payload = memory.payload
    return (
        microseconds(memory.created_at),
        microseconds(memory.updated_at),
        str(memory.channel),
        str(memory.kind),
        str(memory.category),
        float(memory.importance),
        int(memory.pinned),
        list_text(memory.tags),
        list_text(memory.characters),
        memory.source,
        list_text(memory.sources),
        memory.role,
        memory.name,
        memory.user_id,
        memory.agent_id,
        memory.run_id,
        memory.actor_id,
        memory.thread_id,
        None if memory.valid_from is None else microseconds(memory.valid_from),
        None if memory.valid_to is None else microseconds(memory.valid_to),
        memory.token_cost,
        memory.summary,
        memory.context,
        None if payload is None else json.dumps(dict(payload), ensure_ascii=False, allow_nan=False),
        memory.text,
        str(memory.trust),
        memory.utc_offset,
    )


_MAX_VALUES = 30_000  # SQLite binds at most 32,766 values in a statement


def condition_sql(where: Where) -> tuple[str, list[Any]]:
    """Return `` AND ...`` for every condition, and the values to bind. Raises InvalidFilter."""
    text, values = join_conditions(where, _translate)
    if len(values) > _MAX_VALUES:
        raise InvalidFilter(f"the filters hold {len(values)} values; SQLite takes {_MAX_VALUES} in a call")
    return text, values


def order_sql(order_by: str, descending: bool) -> str:
    """Return the order of :meth:`memwarden.stores.protocol.Store.find`; ``row`` grows in the order of writing."""
    field = sort_field(order_by)
    direction = "DESC" if descending else "ASC"
    if field == WRITTEN:
        return f"row {direction}"
    unset_last = "" if field in NEVER_UNSET else f"{field} IS NULL, "
    return f"{unset_last}{field} {direction}, row {direction}"


def _translate(condition: Condition) -> tuple[str, list[Any]]:
    field, op, wanted, _ = condition
    if field not in ITEM_FIELDS:
        raise InvalidFilter(f"unknown filter field {field!r}")
    if is_inside(condition):
        return _translate_inside(condition)
    if op == UNSET_OR_AFTER:
        return f"({field} IS NULL OR {field} > ?)", [_bind(wanted)]
    if op == IN_ANY_CASE:
        return _any_of(field, list(wanted), f"{FOLD}({field})")
    if op == "$in":
        return _any_of(field, [_bind(item) for item in wanted])
    if op == "$eq" and ITEM_FIELDS[field] != MANY:
        return (f"{field} IS NULL", []) if wanted is None else (f"{field} = ?", [_bind(wanted)])
    if op == "$ne" and ITEM_FIELDS[field] != MANY:
        return f"{field} IS NOT ?", [_bind(wanted)]
    if op in COMPARE and ITEM_FIELDS[field] != MANY:
        return f"{field} {COMPARE[op]} ?", [_bind(wanted)]
    raise InvalidFilter(f"operator {op!r} does not apply to {field!r}")


_TYPES_INSIDE = {BOOLEAN: "('true', 'false')", NUMBER: "('integer', 'real')", TEXT: "('text')"}


def _translate_inside(condition: Condition) -> tuple[str, list[Any]]:
    _, op, wanted, path = condition
    place = "$" + "".join(f'."{name}"' for name in path)
    # json_each lists the members of an object too, which are no values of its place.
    values = (
        "EXISTS (SELECT 1 FROM json_each(payload, ?) AS v WHERE v.type IN ('true', 'false', 'integer', 'real', 'text') "
        "AND json_type(payload, ?) <> 'object'"
    )
    if wanted is None:
        return f"{'NOT ' if op == '$eq' else ''}{values})", [place, place]
    if op in COMPARE:
        test = f"v.type IN {_TYPES_INSIDE[sort_of(wanted)]} AND v.atom {COMPARE[op]} ?"
        return f"{values} AND {test})", [place, place, wanted]
    anything = list(wanted) if op == "$in" else [wanted]
    tests, bound = [], []
    for sort, types in _TYPES_INSIDE.items():
        if some := [item for item in anything if sort_of(item) == sort]:
            tests.append(f"(v.type IN {types} AND v.atom IN ({', '.join('?' * len(some))}))")
            bound += some
    return f"{'NOT ' if op == '$ne' else ''}{values} AND ({' OR '.join(tests) or '0'}))", [place, place, *bound]


def _any_of(field: str, wanted: list[Any], text: str | None = None) -> tuple[str, list[Any]]:
    if not wanted:
        return "0", []
    if ITEM_FIELDS[field] != MANY:
        return f"{field} IN ({', '.join('?' * len(wanted))})", wanted
    rows = ", ".join(["(?)"] * len(wanted))
    return f"EXISTS (SELECT 1 FROM (VALUES {rows}) WHERE instr({text or field}, column1))", [
        list_needle(item) for item in wanted
    ]


def _bind(value: Any) -> Any:
    return microseconds(value) if isinstance(value, datetime) else value
