"""Keeps models small in memory: their tables of word vectors, with the same results, and what loading them frees.

A model that was made small keeps its tables as bytes, with a factor a row, and its graph widens a table before rows of
it are looked up. An ONNX runtime does that once, when it loads the model, and keeps four bytes a number from then on:
47 MB in place of 12 MB for a vocabulary of 30,000 words. Here the rows are looked up first, and widened then.
"""

from __future__ import annotations

import ctypes
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

# Numbers of fields in ONNX's protocol buffers: a model's graph, a graph's nodes and initial values, a node's parts.
_GRAPH, _NODE, _INITIAL = 7, 1, 5
_INPUT, _OUTPUT, _NAME, _OPERATION, _ATTRIBUTE = 1, 2, 3, 4, 5
_TENSOR_DIMS, _TENSOR_NAME = 1, 8
# How a value is written.
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


class _Node(NamedTuple):
    """An operation of a graph. attributes: as they are written."""

    operation: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[bytes, ...]


def look_up_before_widening(model: bytes | memoryview) -> bytes:
    """Return a model whose tables of rows with a factor each are widened after a look-up; any other model as it is.

    The results are the same to the last bit: a factor is of a row.
    """
    try:
        return b"".join(_change_model(memoryview(model)))
    except (IndexError, ValueError):  # no model, or written in another way; whoever loads it says so
        return bytes(model)


def _change_model(model: memoryview) -> Iterator[bytes | memoryview]:
    """Yield the parts of a changed model; they stay where they are until they are joined, for a model is large."""
    for number, value, whole in _fields(model):
        if number != _GRAPH:
            yield whole
            continue
        graph = list(_change_graph(value))
        yield _begin(_GRAPH, sum(map(len, graph)))
        yield from graph


def _change_graph(graph: memoryview) -> Iterator[bytes | memoryview]:
    nodes = [_read_node(value) for number, value, _ in _fields(graph) if number == _NODE]
    shapes = dict(_read_shape(value) for number, value, _ in _fields(graph) if number == _INITIAL)
    changed, gone = _plan(nodes, shapes)
    for number, value, whole in _fields(graph):
        name = _read_node(value).outputs[0] if number == _NODE else ""
        if name in changed:
            yield from (_write(_NODE, _write_node(node)) for node in changed[name])
        elif name not in gone:
            yield whole


def _plan(nodes: Sequence[_Node], shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, list[_Node]], set[str]]:
    """Return by output the look-ups to be changed, with what stands for them, and the outputs that go."""
    made_by = {name: node for node in nodes for name in node.outputs}
    uses = Counter(name for node in nodes for name in node.inputs)
    changed: dict[str, list[_Node]] = {}
    gone: set[str] = set()
    for node in nodes:
        multiply = made_by.get(node.inputs[0]) if node.operation == "Gather" else None
        found = None if multiply is None else _find_table(multiply, made_by, shapes)
        if multiply is not None and found is not None and uses[multiply.outputs[0]] == 1:
            cast, table, factors = found
            changed[node.outputs[0]] = _look_up_first(node, cast, table, factors)
            gone |= {*multiply.outputs, *(cast.outputs if uses[cast.outputs[0]] == 1 else ())}
    return changed, gone


def _find_table(
    multiply: _Node, made_by: Mapping[str, _Node], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[_Node, str, str] | None:
    """Return what widens a table to its factors' type, the table and its factors; None for anything else."""
    if multiply.operation != "Mul":
        return None
    cast = made_by.get(multiply.inputs[0])
    if cast is None or cast.operation != "Cast":
        return None
    table, factors = cast.inputs[0], multiply.inputs[1]
    rows = shapes.get(table, ())
    return (cast, table, factors) if len(rows) == 2 and shapes.get(factors) == (rows[0], 1) else None


def _look_up_first(gather: _Node, cast: _Node, table: str, factors: str) -> list[_Node]:
    _, ids = gather.inputs
    found = gather.outputs[0]
    rows, scale, wide = f"{found}_rows", f"{found}_factors", f"{found}_wide"
    return [
        gather._replace(inputs=(table, ids), outputs=(rows,)),
        gather._replace(inputs=(factors, ids), outputs=(scale,)),
        cast._replace(inputs=(rows,), outputs=(wide,)),
        _Node("Mul", (wide, scale), (found,), ()),
    ]


# --- protocol buffers


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Yield each field's number, its value, and the whole field as it is written."""
    at = 0
    while at < len(message):
        start = at
        key, at = _read_varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == _LENGTH:
            size, at = _read_varint(message, at)
        elif kind == _VARINT:
            size = _read_varint(message, at)[1] - at
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError(f"a field of the kind {kind}")
        if at + size > len(message):
            raise ValueError("a field without an end")
        yield number, message[at : at + size], message[start : at + size]
        at += size


def _read_varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _write_varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*written, value))


def _write(number: int, value: bytes) -> bytes:
    return _begin(number, len(value)) + value


def _begin(number: int, size: int) -> bytes:
    """Return what stands before a value of so many bytes."""
    return _write_varint(number << 3 | _LENGTH) + _write_varint(size)


def _read_node(node: memoryview) -> _Node:
    parts: dict[int, list[bytes]] = {_INPUT: [], _OUTPUT: [], _OPERATION: [], _ATTRIBUTE: []}
    for number, value, _ in _fields(node):
        if number in parts:
            parts[number].append(bytes(value))
    inputs, outputs, (operation, *_) = (
        tuple(item.decode() for item in parts[number]) for number in (_INPUT, _OUTPUT, _OPERATION)
    )
    return _Node(operation, inputs, outputs, tuple(parts[_ATTRIBUTE]))


def _write_node(node: _Node) -> bytes:
    texts = [(_INPUT, item) for item in node.inputs] + [(_OUTPUT, item) for item in node.outputs]
    texts += [(_NAME, f"look_up_{node.outputs[0]}"), (_OPERATION, node.operation)]
    return b"".join(_write(number, item.encode()) for number, item in texts) + b"".join(
        _write(_ATTRIBUTE, item) for item in node.attributes
    )


def _read_shape(tensor: memoryview) -> tuple[str, tuple[int, ...]]:
    """Return the name and shape of an initial value; its numbers may stand one by one or in a row."""
    name, shape = "", list[int]()
    for number, value, _ in _fields(tensor):
        if number == _TENSOR_NAME:
            name = bytes(value).decode()
        elif number == _TENSOR_DIMS:
            at = 0
            while at < len(value):
                size, at = _read_varint(value, at)
                shape.append(size)
    return name, tuple(shape)


# --- memory that was freed (glibc, on Linux)

# Numbers of glibc's parameters: pools that threads take memory from, and the size from which a block is of its own.
_ARENAS, _OWN_BLOCK = -8, -3
_MAX_ARENAS, _OWN_BLOCK_BYTES = 2, 1 << 20


def release_freed_memory() -> None:
    """Give the system back what was freed: loading a model frees more than it keeps."""
    trim = _find("malloc_trim")
    if trim is not None:
        trim(0)


def keep_process_small() -> None:
    """Let threads share their pools of memory, and give large blocks back at once, from now on.

    For a program of our own: the setting is of the whole process.
    """
    set_option = _find("mallopt")
    if set_option is not None:
        set_option(_ARENAS, _MAX_ARENAS)
        set_option(_OWN_BLOCK, _OWN_BLOCK_BYTES)


def _find(name: str) -> Any:
    """Return a function of the C library; None where there is none."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
