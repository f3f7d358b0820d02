"""Texts as PostgreSQL can hold them: nothing is lost, and order stays."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import DataError, adapters
from psycopg.adapt import AdaptersMap, PyFormat

from memwarden.stores.postgres.rows import array, array_text, decode_text, encode_put, encode_text, register_dumpers
from memwarden.testing.examples import FULL, NAMESPACE, SIGNALS, a_memory, a_put

_TEXTS = st.text(st.sampled_from("\x00\x01\x02\x03\x04az"), max_size=6) | st.text(max_size=6)


@given(_TEXTS, _TEXTS)
def test_what_is_stored_compares_as_what_was_given(text: str, other: str) -> None:
    assert "\x00" not in encode_text(text)
    assert decode_text(encode_text(text)) == text
    assert (encode_text(text) < encode_text(other)) == (text < other)
    assert (encode_text(text) == encode_text(other)) == (text == other)


@given(st.lists(_TEXTS, max_size=3))
def test_lists_come_back(texts: list[str]) -> None:
    assert decode_text(encode_text(texts)) == texts
    assert tuple("\x01\x04".join(encode_text(texts)).split("\x01\x04")) == tuple(
        encode_text(texts) or [""]
    )  # on their way back


def test_other_values_stay() -> None:
    assert [encode_text(item) for item in (None, 1, 0.5, True, b"\x00")] == [None, 1, 0.5, True, b"\x00"]


@pytest.mark.parametrize("values", [[], [""], ["", ""], ['say "x"', "back\\slash", "", "NULL", "a,b", "{}"]])
def test_a_list_travels_as_a_text(values: list[str]) -> None:
    assert array_text(values).split("\x01\x04")[1:] == values


@pytest.mark.parametrize(
    ("fields", "escaped"),
    [({}, False), ({"text": "a\x00"}, True), ({"tags": ("\x01",)}, True), ({"source": "\x01"}, True)],
)
def test_a_row_says_whether_it_is_escaped(fields: dict[str, Any], escaped: bool) -> None:
    assert encode_put(a_put("a", **fields), NAMESPACE).content[-1] is escaped


def test_an_escaped_id_marks_its_row() -> None:
    put = replace(a_put("a"), memory=a_memory("a\x00"), signals=SIGNALS)
    assert encode_put(put, NAMESPACE).content[-1] is True
    assert encode_put(replace(put, memory=FULL), NAMESPACE).content[-1] is True


def _dump(kind: str, values: list[Any]) -> bytes:
    """Return the parameter of a column of values."""
    connection = MagicMock(adapters=AdaptersMap(adapters))
    register_dumpers(connection)
    column = array(kind, values)
    return bytes(connection.adapters.get_dumper(type(column), PyFormat.BINARY)(type(column)).dump(column))


@given(st.lists(st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
def test_whole_numbers_travel_as_elements_of_eight_bytes(values: list[int | None]) -> None:
    head = struct.pack("!iiIii", 1, 1, 20, len(values), 1)
    elements = (struct.pack("!i", -1) if value is None else struct.pack("!iq", 8, value) for value in values)
    assert _dump("int8", values) == head + b"".join(elements)


@given(st.lists(st.none() | st.integers(-(2**70), 2**70) | st.floats(), min_size=1, max_size=20))
def test_numbers_travel_as_elements_of_eight_bytes(values: list[float | None]) -> None:
    head = struct.pack("!iiIii", 1, 1, 701, len(values), 1)
    elements = (struct.pack("!i", -1) if value is None else struct.pack("!id", 8, value) for value in values)
    assert _dump("float8", values) == head + b"".join(elements)


@pytest.mark.parametrize("value", [2**70, 1.5, "7", [7], b"7"])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    for values in ([value], [1, value]):
        with pytest.raises(DataError):
            _dump("int8", values)
