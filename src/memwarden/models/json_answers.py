"""Asks a chat model for JSON and checks it: a single repair, then None."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from memwarden.concurrency.isolation import isolated
from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import ChatModel
from memwarden.models.reasoning import strip_reasoning
from memwarden.observability.instrument import record_here, record_model_failure
from memwarden.observability.records import EventDraft, Op
from memwarden.text.language import repair_json

T = TypeVar("T")

# What a JSON list or object begins with, so that brackets of prose cost nothing.
_OPENING = re.compile(r'[\[{](?=\s*["{}\[\]\-0-9tfnNI])')
_MAX_OPENINGS = 1_000

# Time limit of a question together with its repair.
TIME_LIMIT_SECONDS = 20.0
# Seconds. A model that failed or was late is asked by no interactive call for so long: each would wait for its limit.
PAUSE_SECONDS = 30.0

_paused: WeakKeyDictionary[ChatModel, float] = WeakKeyDictionary()

log = logging.getLogger(__name__)


async def ask_json(
    model: ChatModel,
    system: str,
    prompt: str,
    *,
    schema: Mapping[str, Any],
    read: Callable[[Any], T],
    max_tokens: int,
    seconds: float | None = None,
    patient: bool = False,
) -> T | None:
    """Return the result of ``read`` on the model's answer, or None if the answer is unusable.

    ``read`` raises ValueError, KeyError or TypeError for an unusable answer; then the model is told the error and asked
    again, a single time. A model that fails, is late or answers garbage costs a warning. After a failure the answer is
    None at once for :data:`PAUSE_SECONDS`.

    patient: the caller works beside the calls: each question is recorded, and a model that is late or unavailable
    raises ModelUnavailable, since it can be asked another time. It waits twice as long as the model says that an answer
    of it takes (``seconds``), if that is more than the limit.
    """
    limit = TIME_LIMIT_SECONDS if seconds is None else seconds
    if not patient and time.monotonic() < _paused.get(model, 0.0):
        return None
    if patient:
        limit = max(limit, 2 * getattr(model, "seconds", 0.0))
    try:
        async with asyncio.timeout(limit):
            wrong = ""
            for _ in range(2):
                question = partial(model.complete, system, prompt + wrong, schema=schema, max_tokens=max_tokens)
                if patient:
                    record_here(EventDraft(Op.MODEL, reason="asked"))
                text = await isolated(model, question)
                _paused.pop(model, None)
                try:
                    # Half a surrogate pair in one item would keep the store from taking its neighbours.
                    return read(repair_json(next(json_values(strip_reasoning(text)))))
                except (StopIteration, ValueError, KeyError, TypeError, AttributeError) as error:
                    wrong = f"\n\nYour last answer could not be used ({type(error).__name__}). Answer with JSON alone."
        log.warning("the model %s answered twice with what is no answer", model.name)
        record_model_failure("chat_model_garbage")
    except TimeoutError:
        _pause(model)
        log.warning("the model %s took longer than %g seconds", model.name, limit)
        record_model_failure("chat_model_late")
        if patient:
            raise ModelUnavailable("it took too long") from None
    except ModelUnavailable as error:
        _pause(model)
        log.warning("the model %s is left out: %s", model.name, error)
        record_model_failure("chat_model_unavailable")
        if patient:
            raise
    except Exception as error:  # somebody else's code, which must not cost a write
        _pause(model)
        log.warning("the model %s is left out: %s", model.name, type(error).__name__)
        record_model_failure("chat_model_broken")
    return None


def _pause(model: ChatModel) -> None:
    with suppress(TypeError):  # a caller's own class may refuse weak references
        _paused[model] = time.monotonic() + PAUSE_SECONDS


def json_values(text: str) -> Iterator[Any]:
    """Yield the outermost JSON lists and objects in a text, in order.

    Truncated JSON is skipped as far as it was parsed: the tags of a truncated memory are no list of memories.
    """
    # Not strict: models write line breaks inside of strings as they are.
    decoder, at = json.JSONDecoder(strict=False), 0
    for _ in range(_MAX_OPENINGS):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        at = opening.start()
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            at = max(at + 1, error.pos)
        except (ValueError, RecursionError):  # a number of thousands of digits; brackets without end
            return
        else:
            yield value
