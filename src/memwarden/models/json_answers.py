"""Getting checked JSON out of a chat model: one repair, then it is given up (decisions 2.23)."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from memwarden.concurrency.isolation import isolated
from memwarden.errors import ModelUnavailable
from memwarden.models.protocols import ChatModel
from memwarden.observability.instrument import record_model_failure

T = TypeVar("T")

# What a JSON list or object begins with, so that brackets of prose cost nothing.
_OPENING = re.compile(r'[\[{](?=\s*["{}\[\]\-0-9tfnNI])')
_MAX_OPENINGS = 1_000

TIME_LIMIT_SECONDS = 20.0
"""A question and its repair may take so long together."""

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
) -> T | None:
    """Return what ``read`` makes of the model's answer, or None when there is no use in it.

    ``read`` raises ValueError, KeyError or TypeError for an answer that says nothing; then the model is told what was
    wrong and asked once more. Never raises: a model that fails, is late or answers garbage costs a warning.
    """
    limit = TIME_LIMIT_SECONDS if seconds is None else seconds
    try:
        async with asyncio.timeout(limit):
            wrong = ""
            for _ in range(2):
                question = partial(model.complete, system, prompt + wrong, schema=schema, max_tokens=max_tokens)
                text = await isolated(model, question)
                try:
                    return read(next(json_values(text)))
                except (StopIteration, ValueError, KeyError, TypeError, AttributeError) as error:
                    wrong = f"\n\nYour last answer could not be used ({type(error).__name__}). Answer with JSON alone."
        log.warning("the model %s answered twice with what is no answer", model.name)
        record_model_failure("chat_model_garbage")
    except TimeoutError:
        log.warning("the model %s took longer than %g seconds", model.name, limit)
        record_model_failure("chat_model_late")
    except ModelUnavailable as error:
        log.warning("the model %s is left out: %s", model.name, error)
        record_model_failure("chat_model_unavailable")
    except Exception as error:  # somebody else's code, which must not cost a write
        log.warning("the model %s is left out: %s", model.name, type(error).__name__)
        record_model_failure("chat_model_broken")
    return None


def json_values(text: str) -> Iterator[Any]:
    """The lists and objects in a text, one after another, without looking for more inside of them.

    What began as JSON and then broke off is passed over as far as it was understood: the tags of a memory that was cut
    off are no list of memories.
    """
    decoder, at = json.JSONDecoder(), 0
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
