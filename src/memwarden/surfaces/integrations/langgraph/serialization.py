"""Converts LangGraph's checkpoints to records and back. Pickle is neither written nor read."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import orjson
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from memwarden.errors import InvalidInput
from memwarden.remember.ingest.redaction import redact_value
from memwarden.stores.shared.checkpoints import (
    ChannelValue,
    CheckpointKey,
    CheckpointRead,
    PendingWrite,
    SavedCheckpoint,
)

Versions = Mapping[str, str | int | float]

# Texts up to this many characters stay in the checkpoint's row: a row of their own would cost more than they do.
_MAX_INLINE = 256
# Values of up to so many bytes are shown whole in the view of the latest states.
_MAX_SHOWN_BYTES = 4_000
_SHOWN_CHARACTERS = 1_000
_TASK_ID = re.compile(r":[^|]*")
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_MESSAGE = ("name", "id", "tool_calls", "tool_call_id", "status")


class CheckpointSerializer:
    """Converts LangGraph's objects into records.

    Args:
        serde: what writes and reads values.
        most_bytes: a checkpoint, or the writes of a call, that take more are refused.
        strict: values are written without secrets (the setting ``secrets``).

    Raises InvalidInput for a serializer that pickles.
    """

    def __init__(self, serde: SerializerProtocol, most_bytes: int, *, strict: bool = False) -> None:
        if _pickles(serde):
            raise InvalidInput(
                "a serializer with pickle_fallback would run code that lies in the store; use "
                "JsonPlusSerializer(pickle_fallback=False)"
            )
        self._serde = serde
        self._most_bytes = most_bytes
        self._strict = strict
        # What a serializer encrypts must not stand beside it in plain text.
        self._shows = type(serde) is JsonPlusSerializer

    def to_records(
        self,
        key: CheckpointKey,
        parent: str | None,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: Versions,
    ) -> tuple[SavedCheckpoint, list[ChannelValue]]:
        """Return a checkpoint and its changed values as records. Raises InvalidInput.

        new: channels that changed since the parent. Without a parent nothing was written yet, so all values are.
        """
        versions = checkpoint["channel_versions"]
        small: dict[str, Any] = {}
        links: list[tuple[str, str]] = []
        values: list[ChannelValue] = []
        for channel, value in checkpoint["channel_values"].items():
            value = redact_content(value) if self._strict else value
            if _is_small(value) or channel not in versions:
                small[channel] = value
                continue
            version = str(versions[channel])
            links.append((channel, version))
            # Values that did not change since the parent are stored already, under the same version.
            if channel in new or parent is None:
                kind, data = self._dump(f"channel {channel!r}", value)
                values.append(
                    ChannelValue(channel, version, kind, data, readable_json(value, len(data)) if self._shows else None)
                )
        kind, data = self._dump("the checkpoint", {**checkpoint, "channel_values": small})
        self._check_size({"the checkpoint itself": len(data), **{value.channel: len(value.data) for value in values}})
        run = metadata.get("run_id")
        saved = SavedCheckpoint(
            key,
            parent,
            _TASK_ID.sub("", key.ns),
            kind,
            data,
            tuple(links),
            tuple(small),
            redact_content(dict(metadata)) if self._strict else metadata,
            None if run is None else str(run),
            (_json(small) if self._shows else None) or "{}",
        )
        return saved, values

    def writes(self, writes: Sequence[tuple[str, Any]], task: str, path: str) -> list[PendingWrite]:
        """Return a task's writes as records. Raises InvalidInput."""
        made = [
            PendingWrite(
                task,
                path,
                WRITES_IDX_MAP.get(channel, place),
                channel,
                *self._dump(f"a write to channel {channel!r}", redact_content(value) if self._strict else value),
            )
            for place, (channel, value) in enumerate(writes)
        ]
        self._check_size({item.channel: len(item.data) for item in made})
        return made

    def to_tuple(self, found: CheckpointRead) -> CheckpointTuple:
        """Return a record as LangGraph's checkpoint tuple."""
        saved, loads = found.saved, self._serde.loads_typed
        checkpoint = loads((saved.kind, saved.data))
        checkpoint["channel_values"].update({value.channel: loads((value.kind, value.data)) for value in found.values})
        metadata: Any = dict(saved.metadata)
        return CheckpointTuple(
            config=config_of(saved.key),
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=None if saved.parent is None else config_of(saved.key._replace(id=saved.parent)),
            pending_writes=[(write.task, write.channel, loads((write.kind, write.data))) for write in found.writes],
        )

    def _dump(self, what: str, value: Any) -> tuple[str, bytes]:
        try:
            kind, data = self._serde.dumps_typed(value)
        except Exception as error:  # a serializer may raise anything for what it does not know
            raise InvalidInput(
                f"{what} holds something that cannot be saved without pickle ({type(value).__name__}: {error}); keep "
                "to plain data, messages, dataclasses and pydantic models, or give a serde that knows it"
            ) from error
        # A serializer of somebody else may pickle without a setting that says so.
        if "pickle" in kind:
            raise InvalidInput(f"{what} was pickled by the serde; what is pickled is neither written nor read")
        return kind, data

    def _check_size(self, sizes: Mapping[str, int]) -> None:
        total = sum(sizes.values())
        if total > self._most_bytes:
            largest = max(sizes, key=lambda name: sizes[name])
            raise InvalidInput(
                f"a checkpoint of {total:,} bytes, most of them ({sizes[largest]:,}) in {largest!r}, is over the limit "
                f"of {self._most_bytes:,}; keep large things in files or a store and their names in the state, or give "
                "MemwardenSaver a greater most_bytes"
            )


def config_of(key: CheckpointKey) -> RunnableConfig:
    """Return LangGraph's config of a checkpoint."""
    return {"configurable": {"thread_id": key.thread, "checkpoint_ns": key.ns, "checkpoint_id": key.id}}


def readable_json(value: Any, size: int) -> str | None:
    """Return a value as JSON for people, None where impossible. Not made to be read back.

    Args:
        size: about how many bytes the value takes. Of a large list the last entries are shown, of a large text its
            beginning: a whole second copy would make saving half as slow again.

    >>> shown({"seen": {1}}, 9)
    '{"seen":[1]}'
    """
    if size <= _MAX_SHOWN_BYTES:
        return _json(value)
    if isinstance(value, str):
        return _json({"left_out": len(value) - _SHOWN_CHARACTERS, "begins": value[:_SHOWN_CHARACTERS]})
    # The end of a list of messages is what people look for in a state.
    last = value[-max(1, _MAX_SHOWN_BYTES * len(value) // size) :] if isinstance(value, list) else []
    text = _json(last)
    if not last or text is None or len(text) > 2 * _MAX_SHOWN_BYTES:
        return _json({"left_out": size})
    return f'{{"left_out":{len(value) - len(last)},"last":{text}}}'


def redact_content(value: Any) -> Any:
    """Return a value of a graph's state without secrets, codes of a home among them; its objects keep their classes."""
    if isinstance(value, BaseModel):
        return value.model_copy(
            update=redact_content({each: getattr(value, each) for each in type(value).model_fields})
        )
    if is_dataclass(value) and not isinstance(value, type):
        held = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        return replace(value, **redact_content(held))
    if isinstance(value, dict):
        named: dict[Any, Any] = {}
        for key, item in value.items():  # what stands under "password" is a secret
            named |= redact_value({key: item}, strict=True)[0] if isinstance(item, str) else {key: redact_content(item)}
        return named
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return type(value)._make(map(redact_content, value))
    if isinstance(value, list | tuple | set | frozenset | deque):
        return type(value)(map(redact_content, value))
    return redact_value(value, strict=True)[0] if isinstance(value, str) else value


def _json(value: Any) -> str | None:
    try:
        text = orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()
    except (TypeError, ValueError, RecursionError):
        return None
    return _NUL.sub(r"\1\\ufffd", text) if "\\u0000" in text else text  # no database's JSON can hold it


def _plain(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        more = {name: found for name in _MESSAGE if (found := getattr(value, name, None))}
        return {"type": value.type, "content": value.content, **more}
    if hasattr(value, "model_dump"):
        return value.model_dump()
    if isinstance(value, set | frozenset | deque):
        return list(value)
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    return str(value)


def _is_small(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _MAX_INLINE
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**63)


def _pickles(serde: Any) -> bool:
    if isinstance(serde, EncryptedSerializer):
        return _pickles(serde.serde)
    return bool(getattr(serde, "pickle_fallback", False))
