"""Decides which saved state a goal needs before it runs, and whether a tool's result is saved.

With a chat model it asks, in a prompt of at most 200 tokens. Without a model, search and rules decide. A model that
fails, is late or answers garbage costs a warning: nothing is loaded or saved, and the goal runs.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from memwarden.agent.saving import SaveDecision, decide_saving, is_only_secret
from memwarden.agent.state import MAX_CANDIDATES, AsyncState, StateKey
from memwarden.checks import TEXTS, TRUTH, word
from memwarden.errors import InvalidInput, MemwardenError
from memwarden.models.json_answers import ask_json
from memwarden.models.protocols import ChatModel
from memwarden.models.schemas import FLAG, TEXT, TEXT_OR_NULL, list_of, object_of
from memwarden.observability.instrument import instrumented, record_model_failure
from memwarden.observability.records import Node, Op
from memwarden.recall.answer.frame import clean_line, clean_value
from memwarden.security.secrets import redact
from memwarden.text.tokenizer import TokenCounter, estimate

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
        auto_save: whether results of tools may be saved. Off by default.
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
        """Return a goal with the state that it needs. Unchanged when it needs none."""
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
            matches = await self._state.find_for_goal(goal, most=MAX_LOADED)
            return await self._state.load_for_model([item.key for item in matches], marked=True)
        candidates = await self._state.find_for_goal(goal, most=MAX_CANDIDATES, bar=0.0, described=True)
        if not candidates:
            return {}
        prompt, prompt_keys = relevance_prompt(goal, candidates, self._count)
        if not prompt_keys:
            return {}
        keys = await ask_json(
            self._chat,
            SYSTEM,
            prompt,
            schema=SCHEMA,
            read=lambda answer: read_chosen_keys(answer, prompt_keys),
            max_tokens=_MAX_ANSWER_TOKENS,
            seconds=self.seconds,
        )
        return await self._state.load_for_model(keys or (), marked=True)

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
        goal_words = words_and_forms(goal)
        return any(goal_words.issuperset(stems) for word in self.settings.words if (stems := terms(word)))

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
    goal_text = _shorten(goal, MAX_GOAL_TOKENS, count)
    keys: list[str] = []
    for item in offered:
        if count(_relevance_question(goal_text, [*keys, _quote_key(item.key)])) <= room:
            keys.append(item.key)
    lines = {key: _quote_key(key) for key in keys}
    for entry in offered:
        if entry.key in lines and entry.description:
            description = _shorten(entry.description, 12, count).replace(",", ";")  # a comma parts the keys
            longer = {**lines, entry.key: f"{lines[entry.key]} ({description})"}
            if count(_relevance_question(goal_text, list(longer.values()))) <= room:
                lines = longer
    return _relevance_question(goal_text, list(lines.values())), keys


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
    reason_text = " ".join(reason.split())
    return SaveDecision(save, key.strip(), reason_text if save or reason_text else "the model would not save it")
