"""What is read of an answer while its bytes pass, however they are cut."""

from __future__ import annotations

import json
import random
import time
from itertools import pairwise
from typing import Any

import pytest

from memwarden.conversation.recording import assemble_response
from memwarden.surfaces.proxy.events import DocumentReader, EventReader

WORDS = ["Zürich", "東京の", "👩‍👩‍👧 ", "naïve\n", "\r\n", "\u2028", "end"]
EVENTS = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in WORDS]


def encode(events: list[dict[str, Any]], ending: str) -> bytes:
    """The events as a stream whose lines end so; letters as they are, not escaped."""
    lines = [": a comment", "event: chunk", "id: 7"]
    for event in events:
        lines += [f"data: {json.dumps(event, ensure_ascii=False)}", ""]
    lines += ['data:{"choices":', "data: []}", "", "data: [DONE]", "", ""]
    return ending.join(lines).encode()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=ascii)
def test_events_are_read_however_the_bytes_are_cut(ending: str) -> None:
    """Within a character, between CR and LF, byte by byte."""
    stream = encode(EVENTS, ending)
    draw = random.Random(7)
    cuts = [list(range(len(stream) + 1)), [0, len(stream)]]
    cuts += [sorted({0, len(stream), *draw.sample(range(len(stream)), 20)}) for _ in range(50)]
    for places in cuts:
        read: list[Any] = []
        reader = EventReader(read.append)
        for start, end in pairwise(places):
            reader.feed(stream[start:end])
        assert read == [*EVENTS, {"choices": []}], places
        assert reader.is_over


def test_an_event_without_an_empty_line_after_it_is_read_at_the_end() -> None:
    read: list[Any] = []
    reader = EventReader(read.append)
    reader.feed(b'data: {"a": "\xe6\x9d')
    reader.feed(b'\xb1"}')
    assert read == []
    reader.end()
    assert read == [{"a": "東"}]


def test_a_stream_may_begin_with_a_byte_order_mark() -> None:
    read: list[Any] = []
    reader = EventReader(read.append)
    for piece in (b"\xef\xbb", b'\xbfdata: {"a": 1}\n\n', b'\xef\xbb\xbfdata: {"a": 2}\n\n'):
        reader.feed(piece)
    assert read == [{"a": 1}]


def test_an_answer_that_streams_in_parts_is_read() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parts = ([thought], [{"type": "text", "text": "Cop"}], "per.", None)
    events = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in parts]
    response = assemble_response("openai_chat", events)
    assert response["choices"][0]["message"]["content"] == "Copper."


def test_a_line_without_end_costs_no_more_than_its_length() -> None:
    """An upstream that lies may send it byte by byte; what comes after it is read."""
    read: list[Any] = []
    reader = EventReader(read.append)
    began = time.process_time()
    reader.feed(b"data: ")
    for _ in range(130_000):
        reader.feed(b"x" * 40)
    assert time.process_time() - began < 5
    reader.feed(b'\n\ndata: {"a": 1}\n\n')
    assert read == [{"a": 1}]


@pytest.mark.parametrize("length", [None, 15])
def test_a_document_is_read_once_however_it_is_cut(length: int | None) -> None:
    read: list[Any] = []
    reader = DocumentReader(read.append, length)
    for byte in '{"a": "東京"}'.encode():
        reader.feed(bytes([byte]))
    reader.end()
    assert read == [{"a": "東京"}]


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=ascii)
def test_all_but_the_end_of_a_stream_may_pass_at_once(ending: str) -> None:
    stream = encode(EVENTS, ending)
    last = f"data: [DONE]{ending}{ending}".encode()
    reader = EventReader(lambda _: None)
    assert reader.feed(stream) == len(stream) - len(last)
    assert reader.feed(b": more\n\n") == 8, "the end is held back once"
    cut = EventReader(lambda _: None)
    assert cut.feed(stream[:-4]) == len(stream) - 4, "not yet known to be the last"
    assert cut.feed(stream[-4:]) == 0, "the rest of the event"
