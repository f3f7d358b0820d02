"""Settings of a chat: how memories are inserted, and when memories are extracted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from memwarden.checks import SHARE, TRUTH, whole, word
from memwarden.errors import InvalidConfig
from memwarden.recall.answer.template import CLASSIC_TEMPLATE, LEAN_TEMPLATE, MAX_IN_CONTEXT, PLACEHOLDERS, Template
from memwarden.settings import DEFAULT_BLOCK_TOKENS, DEFAULT_THRESHOLD

# The places for memories in a prompt (:mod:`memwarden.conversation.formats`,
# :mod:`memwarden.conversation.prompt_cache`).
INJECTION_MODES: Final = ("system_append", "context_message", "user_prefix", "cache_stable")
# The times at which memories are extracted from a chat.
EXTRACTION_MODES: Final = ("every_turn", "periodic", "on_save", "llm_triggered")
# At a tenth of the price for cached tokens these cost 1,000 tokens a turn. Making a prompt of 15,000 anew costs 13,500
# more, so doing that more often than every 14 turns would not pay.
DEFAULT_DELTA_TOKENS: Final = 10_000
# Default time limit for an answer of the model, and for each piece of a stream.
DEFAULT_SECONDS: Final = 120.0
MAX_TEMPLATE, MAX_TOKENS, MAX_INTERVAL = 2_000, 1_000_000, 1_000
_BRACED: Final = re.compile(r"\{\{(.*?)\}\}")
# Blocks are found by these tags and stripped from stored texts: a template with them would break that.
_TAG: Final = re.compile(r"</?memories", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """The settings of a chat. ``dataclasses.replace`` changes fields and checks them again.

    Attributes:
        use_memory: whether memories are inserted and messages stored; False, the default, lets everything
            pass untouched, whatever the others say. Without any settings a turn and a chat have memory.
        memory_injection_mode: ``system_append``, ``context_message``, ``user_prefix`` or ``cache_stable``.
        memory_extraction_mode: ``every_turn``, ``periodic``, ``on_save`` or ``llm_triggered``.
        max_memory_context: so many memories a turn at most, 1..100.
        max_memory_tokens: so many tokens of memories a turn at most, the words of the templates included, 1..1,000,000.
        overview_tokens: so many tokens of an overview of the person go in with each message, 0..1,000,000; 0: none.
        memory_extraction_interval: ``periodic`` looks through the chat every so many turns, 1..1,000.
        memory_search_threshold: the score that the best memory has to reach, on the calibrated scale, 0..1.
        memory_context_prefix, memory_context_suffix: what stands before and after the memories; may be empty.
        memory_format: how a memory is shown: ``{{memoryType}}``, ``{{importance}}`` (1..10), ``{{age}}`` in words,
            ``{{summary}}``, which it must hold, and ``{{sourceContext}}``. A line of which every placeholder is empty
            is left out.
        max_delta_tokens: with ``cache_stable``, so many tokens of memories stand before later messages before all of
            them are made anew, 1..1,000,000.

    Raises InvalidConfig.
    """

    use_memory: bool = False
    memory_injection_mode: str = "system_append"
    memory_extraction_mode: str = "periodic"
    max_memory_context: int = MAX_IN_CONTEXT
    max_memory_tokens: int = DEFAULT_BLOCK_TOKENS
    overview_tokens: int = 0
    memory_extraction_interval: int = 5
    memory_search_threshold: float = DEFAULT_THRESHOLD
    memory_context_prefix: str = LEAN_TEMPLATE.prefix
    memory_context_suffix: str = LEAN_TEMPLATE.suffix
    memory_format: str = LEAN_TEMPLATE.format
    max_delta_tokens: int = DEFAULT_DELTA_TOKENS

    def __post_init__(self) -> None:
        TRUTH.check(self.use_memory, "use_memory", InvalidConfig)
        word(INJECTION_MODES).check(self.memory_injection_mode, "memory_injection_mode", InvalidConfig)
        word(EXTRACTION_MODES).check(self.memory_extraction_mode, "memory_extraction_mode", InvalidConfig)
        whole(1, MAX_IN_CONTEXT).check(self.max_memory_context, "max_memory_context", InvalidConfig)
        whole(1, MAX_TOKENS).check(self.max_memory_tokens, "max_memory_tokens", InvalidConfig)
        whole(0, MAX_TOKENS).check(self.overview_tokens, "overview_tokens", InvalidConfig)
        whole(1, MAX_TOKENS).check(self.max_delta_tokens, "max_delta_tokens", InvalidConfig)
        whole(1, MAX_INTERVAL).check(self.memory_extraction_interval, "memory_extraction_interval", InvalidConfig)
        SHARE.check(self.memory_search_threshold, "memory_search_threshold", InvalidConfig)
        for name in ("memory_context_prefix", "memory_context_suffix", "memory_format"):
            _check_template(name, getattr(self, name))
        _check_placeholders(self.memory_format)

    @property
    def search_threshold(self) -> float | None:
        """The threshold of a search; None for the default."""
        return None if self.memory_search_threshold == DEFAULT_THRESHOLD else self.memory_search_threshold

    @property
    def template(self) -> Template:
        """The template of the block."""
        lean = self.memory_format == LEAN_TEMPLATE.format
        prefix, suffix = self.memory_context_prefix, self.memory_context_suffix
        return Template(prefix, suffix, self.memory_format, numbered=not lean, by_day=lean)


def read_chat_settings(values: Mapping[str, Any]) -> ChatSettings:
    """Read settings by their names in snake_case (``use_memory``) or camelCase (``useMemory``).

    A name in camelCase comes from programs of the classic chat pipeline, so its defaults hold: 5 memories, 500 tokens,
    a threshold of 0.7 and its templates.

    Raises InvalidConfig for an unknown name, a name given in both spellings, and a wrong value.
    """
    if not isinstance(values, Mapping):
        raise InvalidConfig(f"settings of a chat are a mapping like {{'use_memory': True}}, not {values!r:.80}")
    names = {spelling: field.name for field in fields(ChatSettings) for spelling in (field.name, _camel(field.name))}
    read: dict[str, Any] = {}
    for spelling, value in values.items():
        name = names.get(spelling)
        if name is None:
            known = ", ".join(field.name for field in fields(ChatSettings))
            raise InvalidConfig(f"unknown setting {spelling!r:.80} of a chat; there are: {known}")
        if name in read:
            raise InvalidConfig(f"the setting {name!r} is given twice, also as {_camel(name)!r}")
        read[name] = value
    classic = any(spelling in _CLASSIC_NAMES for spelling in values)
    return ChatSettings(**({**_CLASSIC, **read} if classic else read))


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


_CLASSIC: Final[Mapping[str, Any]] = {
    "max_memory_context": 5,
    "max_memory_tokens": 500,
    "memory_search_threshold": 0.7,
    "memory_context_prefix": CLASSIC_TEMPLATE.prefix,
    "memory_context_suffix": CLASSIC_TEMPLATE.suffix,
    "memory_format": CLASSIC_TEMPLATE.format,
}
# Settings that the classic pipeline lacks say nothing of its defaults.
_CLASSIC_NAMES: Final = frozenset(
    _camel(field.name) for field in fields(ChatSettings) if field.name not in ("overview_tokens", "max_delta_tokens")
)


def _check_template(name: str, value: Any) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEMPLATE:
        raise InvalidConfig(f"{name} is a text of at most {MAX_TEMPLATE:,} characters, not {value!r:.80}")
    if _TAG.search(value):
        raise InvalidConfig(f"{name} must not hold <memories> or </memories>, which stand around the block already")


def _check_placeholders(template: str) -> None:
    held = _BRACED.findall(template)
    unknown = [item for item in held if item not in PLACEHOLDERS]
    if unknown:
        known = ", ".join(f"{{{{{item}}}}}" for item in PLACEHOLDERS)
        raise InvalidConfig(f"memory_format holds {{{{{unknown[0]:.80}}}}}; it can hold {known}")
    if "summary" not in held:
        raise InvalidConfig("memory_format must hold {{summary}}, or nothing of a memory is shown")
