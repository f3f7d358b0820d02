"""Decides which saved state a goal needs before it runs, and whether a tool's result is saved.

With a chat model it asks, in a prompt of at most 200 tokens; without a model, search and rules decide. A model that
fails, is late or answers garbage costs a warning: nothing is loaded or saved, and the goal runs.
"""

from __future__ import annotations

import json
import logging
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from memwarden.agent.relevance import compile_pattern, concepts_of, plain_words
from memwarden.agent.state import MAX_CANDIDATES, AsyncState, StateKey, words_of
from memwarden.checks import TEXTS, TRUTH, word
from memwarden.errors import InvalidInput, MemwardenError
from memwarden.models.json_answers import ask_json
from memwarden.models.protocols import ChatModel
from memwarden.models.schemas import FLAG, TEXT, TEXT_OR_NULL, list_of, object_of
from memwarden.observability.instrument import instrumented, record_model_failure
from memwarden.observability.records import Node, Op
from memwarden.recall.answer.frame import clean_line, clean_value
from memwarden.remember.ingest.redaction import redact_value
from memwarden.security.secrets import redact
from memwarden.text.tokenizer import TokenCounter, estimate


class SaveDecision(NamedTuple):
    """A decision to save or not, with its key and reason."""

    save: bool
    key: str
    reason: str


_OBJECT = re.compile(
    r"\b(?:save|remember|store|keep|memori[sz]e|note(?: down)?)\s+(?:the |my |their |all |a |an |our )*"
    r"(?P<what>[\w' -]{3,60}?)(?=\s+(?:to|in|into|for|as|so|and|under|from|that|which)\b|[,.;!?]|$)",
    re.IGNORECASE,
)
_POINTING = frozenset("this that these those it them him her me us everything all result results".split())
_VERBS = frozenset(
    "get fetch list read load show retrieve describe find query lookup hole lies liste obtener listar leer consultar "
    "obtenir lister lire ottieni elenca".split()
)
# Concepts of what people are, own and agreed on (:mod:`memwarden.agent.relevance`).
_LASTING = frozenset(
    "contact friend family child neighbour team member boss advisor client supplier expert doctor teacher student "
    "tenant landlord pet allergy diet dislike vaccine blood size policy house_rules style on_call insurance warranty "
    "subscription birthday address signature language skill".split()
)
_EMPTY: tuple[Any, ...] = (None, "", (), [], {})
_FAILURE = frozenset("error errors fehler exception fault erreur errore".split())
_MIN_KEY, _MAX_KEY = 3, 60
_MARK = re.compile(r"\[redacted:[a-z0-9-]+\]")
# "The password of the wifi is" says nothing without the password.
_MAX_LABEL_WORDS = 6
# Depth to which a result's keys are read; deeper keys are details.
_MAX_DEPTH = 3


def decide_saving(tool: str, result: Any, goal: str) -> SaveDecision:
    """Decide about a result of a tool, given the goal that the tool was called for."""
    if _is_nothing(result):
        return SaveDecision(False, "", "the result is empty or an error")
    named = words_of(tool)
    words, said, keys = (
        plain_words(named),
        plain_words(goal),
        [plain_words(words_of(key)) for key in _keys(result, _MAX_DEPTH)],
    )
    if _has("secret", words) or any(_has("secret", key) for key in keys):
        return SaveDecision(False, "", "it may be a secret")
    if _has("not_keep", said):
        return SaveDecision(False, "", "the goal asks not to keep it")
    if _has("keep", _patterns()["other_sense"].sub(" ", said)):
        return SaveDecision(True, _key_of(goal, named.lower().split()), "the goal asks to keep it")
    ground = None if _has("this_moment", said) else _lasts(words, said, result, keys)
    if ground:
        return SaveDecision(
            True, _join_key(_without_verbs(named.lower().split())), f"{ground} are of use in other sessions"
        )
    return SaveDecision(False, "", "it serves this goal only")


def is_only_secret(tool: str, result: Any) -> bool:
    """Tell whether a result is nothing but a secret, by what is left without it or by the tool's name."""
    if isinstance(result, str | int) and _has("secret", plain_words(words_of(tool))):
        return True
    texts = list(_leaves(redact_value(result)[0], _MAX_DEPTH))
    left = [_MARK.sub(" ", text).split() for text in texts]
    return any(map(_MARK.search, texts)) and all(
        not words or (_MARK.search(text) and len(words) <= _MAX_LABEL_WORDS)
        for text, words in zip(texts, left, strict=True)
    )


def _leaves(value: Any, depth: int) -> Iterator[str]:
    """Yield the values in a result as texts."""
    if isinstance(value, Mapping | list | tuple) and depth:
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(item, depth - 1)
    elif value not in (None, "", True, False):
        yield str(value)


def _lasts(words: str, goal: str, result: Any, keys: Sequence[str]) -> str | None:
    """Return what shows that a result lasts: a word of the tool, of the result's keys, or of the goal; or None."""
    if not isinstance(result, Mapping | list | tuple) or all(_has("report_keys", key) for key in keys or ["?"]):
        return None
    if not _has("passing", words) and (found := _patterns()["lasting"].search(words)):
        return found[0]
    if not _has("passing", words) and (shown := _lasting_concept(words)):
        return shown
    if found := next(filter(None, map(_patterns()["lasting_keys"].search, keys)), None):
        return found[0]
    return "habits" if _has("as_a_rule", goal) and not _has("passing", words) else None


def _lasting_concept(words: str) -> str | None:
    """Return the first word with a concept of lasting things, in any form or language; or None."""
    said = words.split()
    return next((word for word, shown in zip(said, concepts_of(said), strict=True) if shown & _LASTING), None)


def _is_nothing(result: Any) -> bool:
    if any(result == item and type(result) is type(item) for item in _EMPTY):
        return True
    if not isinstance(result, Mapping):
        return False
    failed = result.get("success") is False or any(bool(value) for key, value in result.items() if _is_failure(key))
    payload = [
        value for key, value in result.items() if key not in ("success", "count", "error", "year", "page", "total")
    ]
    return failed or _is_http_error(result) or all(_is_empty(value) for value in payload)


def _is_failure(key: Any) -> bool:
    return not _FAILURE.isdisjoint(plain_words(words_of(str(key))).split())


def _is_http_error(result: Mapping[Any, Any]) -> bool:
    codes = [result.get(key) for key in ("status", "code", "status_code", "statusCode")]
    return any(isinstance(code, int) and 400 <= code <= 599 for code in codes)


def _is_empty(value: Any) -> bool:
    return any(value == item for item in _EMPTY if type(value) is type(item))


def _keys(value: Any, depth: int) -> Iterator[str]:
    """Yield the keys of a result and of the values in it."""
    if isinstance(value, Mapping) and depth:
        for key, item in value.items():
            yield str(key)
            yield from _keys(item, depth - 1)
    elif isinstance(value, list | tuple) and depth:
        for entry in value:
            yield from _keys(entry, depth - 1)


def _has(name: str, text: str) -> bool:
    return _patterns()[name].search(text) is not None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    listed = tomllib.loads(Path(__file__).with_name("worth.toml").read_text(encoding="utf-8"))
    return {
        name: compile_pattern(item) if isinstance(item, str) else re.compile("|".join(item))
        for name, item in listed.items()
    }


def _key_of(goal: str, words: Sequence[str]) -> str:
    found = _OBJECT.search(goal)
    said = [word for word in words_of(found["what"]).lower().split() if word not in _POINTING] if found else []
    return _join_key(said) if len(_join_key(said)) >= _MIN_KEY else _join_key(_without_verbs(words))


def _without_verbs(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _VERBS] or list(words)


def _join_key(words: Sequence[str]) -> str:
    return "_".join(re.sub(r"\W", "", word) for word in words)[:_MAX_KEY].strip("_")


# Limit of the question about a goal, system text included.
MAX_PROMPT_TOKENS = 200
# Maximum values loaded for a goal without a model.
MAX_LOADED = 5
# Characters of a tool's result that a model sees.
MAX_PREVIEW = 500
MAX_GOAL_TOKENS = 60
_MAX_ANSWER_TOKENS = 150

SYSTEM: Final = "You identify relevant saved state. Output only JSON, no explanation."
SAVE_SYSTEM: Final = "You decide what is saved as state. Output only JSON, no explanation."
SCHEMA: Final = object_of({"relevant_keys": list_of(TEXT)})
SAVE_SCHEMA: Final = object_of({"save": FLAG, "key": TEXT_OR_NULL, "reason": TEXT_OR_NULL})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OverseerSettings:
    """The settings of an overseer.

    Attributes:
        check: ``every_goal``, or ``words`` for goals that hold any of ``words``, in any form ("lists", "saving").
        inject: relevant state is put after the goal (``context``) or into the system prompt (``system``).
        auto_save: whether results of tools may be saved; off by default.
        skip_tools: tools whose results are never saved. only_tools: if not empty, only their results are saved.
    """

    check: Literal["every_goal", "words"] = "every_goal"
    words: tuple[str, ...] = ("remember", "saved", "list")
    inject: Literal["context", "system"] = "context"
    auto_save: bool = False
    skip_tools: tuple[str, ...] = ("getCurrentDate", "calculateTimestamp", "llm_analyze")
    only_tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        word(("every_goal", "words")).check(self.check, "check")
        word(("context", "system")).check(self.inject, "inject")
        TRUTH.check(self.auto_save, "auto_save")
        for name in ("words", "skip_tools", "only_tools"):
            TEXTS.check(getattr(self, name), name)


class PreparedGoal(NamedTuple):
    """A goal that is ready to run.

    goal: the goal, followed by relevant state in mode ``context``. system: text for the system prompt, or "". state:
    the loaded values by key.
    """

    goal: str
    system: str
    state: dict[str, Any]


class AsyncOverseer:
    """Loads and saves a person's state for an agent. Made by :meth:`memwarden.api.scope.AsyncScope.overseer`."""

    def __init__(
        self,
        state: AsyncState,
        chat: ChatModel | None,
        settings: OverseerSettings,
        *,
        seconds: float = 5.0,
        count: TokenCounter = estimate,
    ) -> None:
        self._runtime = state._runtime
        self.who = state.who
        self._state = state
        self._chat = chat
        self.settings = settings
        self.seconds = seconds
        self._count = count

    async def prepare(self, goal: str) -> PreparedGoal:
        """Return a goal with the state that it needs; unchanged when it needs none."""
        state = await self.relevant(goal)
        if not state:
            return PreparedGoal(goal, "", {})
        block = relevant_block(state)
        if self.settings.inject == "system":
            return PreparedGoal(goal, block, state)
        return PreparedGoal(f"{goal}\n\n{block}", "", state)

    @instrumented(Node.OVERSEER, Op.SEARCH)
    async def relevant(self, goal: str) -> dict[str, Any]:
        """Return the saved values relevant to a goal, by key; ``{}`` for none, or when the model fails.

        Only the values that are returned are loaded. Raises InvalidInput for a goal that is no text, StoreError.
        """
        if not isinstance(goal, str) or not goal.strip():
            raise InvalidInput(f"a goal is a text, not {goal!r:.80}")
        if not self._is_due(goal):
            return {}
        if self._chat is None:
            found = await self._state.find_for_goal(goal, most=MAX_LOADED)
            return await self._state.load_for_model([item.key for item in found], marked=True)
        offered = await self._state.find_for_goal(goal, most=MAX_CANDIDATES, bar=0.0, described=True)
        if not offered:
            return {}
        prompt, shown = relevance_prompt(goal, offered, self._count)
        if not shown:
            return {}
        chosen = await ask_json(
            self._chat,
            SYSTEM,
            prompt,
            schema=SCHEMA,
            read=lambda answer: read_chosen_keys(answer, shown),
            max_tokens=_MAX_ANSWER_TOKENS,
            seconds=self.seconds,
        )
        return await self._state.load_for_model(chosen or (), marked=True)

    @instrumented(Node.OVERSEER, Op.CREATE)
    async def after(self, tool: str, result: Any, goal: str) -> SaveDecision:
        """Decide whether a tool's result is saved, and save it. Returns the decision with its reason.

        The whole result is the saved value. Nothing is saved while ``auto_save`` is off, for tools that are skipped,
        for what looks like orders to an assistant, for a result that is nothing but a secret, under a key of a value
        that a person saved, and when a model fails.
        """
        refusal = self._refusal(tool)
        if refusal:
            return SaveDecision(False, "", refusal)
        # What a tool gave is external: a model is shown none of it where prompts are not.
        by_rules = self._chat is None or self._runtime.settings.external != "quote"
        verdict = decide_saving(tool, result, goal) if by_rules else await self._ask_model(tool, result, goal)
        if not verdict.save:
            return verdict
        if is_only_secret(tool, result):
            return SaveDecision(False, verdict.key, "it is nothing but a secret")
        try:
            await self._state.save_from_tool(tool, verdict.key, result, description=verdict.reason)
        except MemwardenError as error:
            log.warning("the result of %s was not saved: %s", tool, type(error).__name__)
            return SaveDecision(False, verdict.key, str(error))
        log.info("Auto-saved to memory: %s - %s", verdict.key, verdict.reason)
        return verdict

    def _is_due(self, goal: str) -> bool:
        if self.settings.check == "every_goal":
            return True
        from memwarden.text.tokenizer import terms, words_and_forms  # a program that asks at every goal does without

        words = "|".join(map(re.escape, self.settings.words))
        if words and re.search(rf"\b(?:{words})\b", goal, re.IGNORECASE):
            return True
        said = words_and_forms(goal)
        return any(said.issuperset(stems) for word in self.settings.words if (stems := terms(word)))

    def _refusal(self, tool: str) -> str:
        if not self.settings.auto_save:
            return "auto_save is off"
        if tool in self.settings.skip_tools:
            return "results of this tool are not saved"
        if self.settings.only_tools and tool not in self.settings.only_tools:
            return "only results of other tools are saved"
        return ""

    async def _ask_model(self, tool: str, result: Any, goal: str) -> SaveDecision:
        assert self._chat is not None
        try:
            preview = json.dumps(result, ensure_ascii=False, allow_nan=False)
            preview = clean_line(redact(preview, strict=self._runtime.settings.strict_secrets).text)[:MAX_PREVIEW]
        except (TypeError, ValueError, RecursionError):
            return SaveDecision(False, "", "the result is not JSON")
        verdict = await ask_json(
            self._chat,
            SAVE_SYSTEM,
            save_prompt(tool, preview, goal),
            schema=SAVE_SCHEMA,
            read=read_verdict,
            max_tokens=_MAX_ANSWER_TOKENS,
            seconds=self.seconds,
        )
        return verdict or SaveDecision(False, "", "the model had no usable answer")


def relevant_block(state: Mapping[str, Any]) -> str:
    """Render state for a prompt."""
    return f"[Relevant Memory]\n{json.dumps(clean_value(dict(state)), indent=2, ensure_ascii=False)}"


def relevance_prompt(goal: str, offered: Sequence[StateKey], count: TokenCounter = estimate) -> tuple[str, list[str]]:
    """Return the question about a goal and the keys in it, within 200 tokens with the system text.

    Keys keep the order in which they were offered. What does not fit is left out, descriptions before keys.
    """
    room = MAX_PROMPT_TOKENS - count(SYSTEM)
    asked = _shorten(goal, MAX_GOAL_TOKENS, count)
    shown: list[str] = []
    for item in offered:
        if count(_relevance_question(asked, [*shown, _quote_key(item.key)])) <= room:
            shown.append(item.key)
    lines = {key: _quote_key(key) for key in shown}
    for entry in offered:
        if entry.key in lines and entry.description:
            said = _shorten(entry.description, 12, count).replace(",", ";")  # a comma parts the keys
            longer = {**lines, entry.key: f"{lines[entry.key]} ({said})"}
            if count(_relevance_question(asked, list(longer.values()))) <= room:
                lines = longer
    return _relevance_question(asked, list(lines.values())), shown


def _relevance_question(goal: str, keys: Sequence[str]) -> str:
    return (
        f"Goal: {json.dumps(goal, ensure_ascii=False)}\n\nAvailable memory: {', '.join(keys)}\n\n"
        'Which memories are relevant? Output JSON only:\n{"relevant_keys": ["key1", "key2"]}\n\n'
        'If none relevant, output: {"relevant_keys": []}'
    )


def _quote_key(key: str) -> str:
    """Quote a key that could be read as two."""
    return json.dumps(key, ensure_ascii=False) if "," in key else key


def _shorten(text: str, tokens: int, count: TokenCounter) -> str:
    words = clean_line(text)
    while count(words) > tokens:
        words = words[: max(1, len(words) * tokens // count(words) - 1)]
    return words


def read_chosen_keys(answer: Any, offered: Sequence[str]) -> list[str]:
    """Return the offered keys that a model chose. Raises TypeError, KeyError, ValueError."""
    keys = answer["relevant_keys"]
    if not isinstance(keys, list):
        raise ValueError("relevant_keys is no list")
    unknown = sum(1 for key in keys if key not in offered)
    if unknown:
        log.warning("the model chose %d keys that were not offered", unknown)
        record_model_failure("chat_model_unknown_keys")
    return [fromkey for fromkey in dict.fromkeys(map(str, keys)) if fromkey in offered]


def save_prompt(tool: str, preview: str, goal: str) -> str:
    """Return the question about a tool's result."""
    return (
        f"Tool: {tool}\nResult preview: {preview}...\nGoal: {goal}\n\n"
        "Should this be saved to memory for future use?\n\nOutput JSON only:\n"
        '{"save": true/false, "key": "descriptive_key", "reason": "brief explanation"}\n\n'
        "Only save if it's useful across multiple sessions (e.g., preferences, people lists, patterns).\n"
        "Don't save single-query data."
    )


def read_verdict(answer: Any) -> SaveDecision:
    """Return a model's decision. Raises TypeError, KeyError, ValueError."""
    save, key, reason = answer["save"], answer.get("key") or "", answer.get("reason") or ""
    if not isinstance(save, bool) or not isinstance(key, str) or not isinstance(reason, str):
        raise TypeError("save is true or false, key and reason are texts")
    if save and not key.strip():
        raise ValueError("no key")
    said = " ".join(reason.split())
    return SaveDecision(save, key.strip(), said if save or said else "the model would not save it")
