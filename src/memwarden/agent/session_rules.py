"""The rules of a session's memory, as pure functions on its dicts.

A session is the application's dict. Its memory lies in it under ``conversation_memory``. Beside it are ``session_id``,
and ``llm_compressions``, the number of texts that a model shortened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from memwarden.agent.shorten import OverlongText, Shortening, size
from memwarden.checks import quote
from memwarden.clock import new_id
from memwarden.errors import InvalidInput
from memwarden.recall.answer.frame import clean_line, frame_external
from memwarden.records import Trust
from memwarden.remember.ingest.screening import screen
from memwarden.text.tokenizer import TokenCounter

Cache = MutableMapping[str, dict[str, Any]]


class Owner(NamedTuple):
    """The owner of a session. Part of every key, so that a cache in other hands answers nothing."""

    tenant: str
    user: str | None
    session_id: str


def cache_key(owner: Owner, tool_name: str, parameters: Mapping[str, Any]) -> str:
    """Return the key of a call, equal for parameters in any order. Raises InvalidInput unless they are JSON."""
    whole = json.dumps([*owner, _name(tool_name), copy_parameters(parameters)], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def copy_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a call's parameters as JSON. Raises InvalidInput unless they are a JSON object."""
    if not isinstance(parameters, Mapping):
        raise InvalidInput(f"the parameters of a tool are a JSON object, not {parameters!r:.80}")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(dict(parameters), allow_nan=False, sort_keys=True))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the parameters of a tool are no JSON object: {error}") from None
    return copy


def keep_result(
    cache: Cache,
    owner: Owner,
    tool_name: str,
    parameters: Mapping[str, Any],
    result: str,
    duration: int,
    at: float,
    call_id: str | None = None,
) -> bool:
    """Keep a result for ``duration`` exchanges, in place of an earlier result. Return whether it was kept.

    A duration of 0 or less keeps nothing. at: seconds since 1970. Raises InvalidInput.
    """
    key = cache_key(owner, tool_name, parameters)
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise InvalidInput(f"llm_cache_duration is a whole number of exchanges, not {duration!r:.80}")
    if not isinstance(result, str):
        raise InvalidInput(f"the result of a tool is a text, not {result!r:.80}; give it as JSON")
    if duration <= 0:
        return False
    cache.pop(key, None)  # the newest stands last
    cache[key] = {
        "tool_name": tool_name,
        "parameters": copy_parameters(parameters),
        "result": result,
        "remaining_duration": duration,
        "original_duration": duration,
        "call_id": call_id or f"call_{new_id()}",
        "cached_at": at,
    }
    return True


def look_up(cache: Cache, owner: Owner, tool_name: str, parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a copy of the cached entry of a call and renew its duration. None for an unknown call."""
    entry = cache.get(cache_key(owner, tool_name, parameters))
    if entry is None:
        return None
    entry["remaining_duration"] = entry["original_duration"]
    return dict(entry)


def count_down(cache: Cache) -> None:
    """End an exchange: every entry loses an exchange of its duration, and expired entries are removed."""
    for key, entry in list(cache.items()):
        entry["remaining_duration"] -= 1
        if entry["remaining_duration"] <= 0:
            del cache[key]


def render_entry(entry: Mapping[str, Any]) -> str:
    """Return an entry as a line for a model. A result that reads like orders to an assistant is hidden."""
    call = f"{entry['tool_name']}({json.dumps(entry['parameters'], ensure_ascii=False, sort_keys=True)})"
    return f"- {clean_line(call)}: {frame_external(fit_result(entry['result']), 'tool/')}"


@lru_cache(maxsize=128)  # 15 ms for 1,000 characters, and the same results stand in every prompt of a session
def fit_result(result: str) -> str:
    """Return a tool's result for a model, without sentences that read like orders, or why it is hidden."""
    from memwarden.security.injection.detector import (
        redact_orders,  # its tables are for those alone who keep what came from outside
    )

    look = screen(Trust.EXTERNAL, result)
    return f"[{look.reason}]" if look.kinds else redact_orders(result)


def _name(tool_name: Any) -> str:
    if not isinstance(tool_name, str) or not tool_name:
        raise InvalidInput(f"tool_name is a text, not {tool_name!r:.80}")
    return tool_name


Session = MutableMapping[str, Any]
Message = dict[str, Any]

MEMORY: Final = "conversation_memory"
SESSION_ID: Final = "session_id"
COMPRESSIONS: Final = "llm_compressions"

MAX_EXCHANGES: Final = 10
MAX_ANSWER_BYTES: Final = 750
SHORT_ANSWER_BYTES: Final = 500
MAX_QUESTION_BYTES: Final = 4_000
SHORT_QUESTION_BYTES: Final = 2_000
MAX_SUMMARY_BYTES: Final = 4_000
SHORT_SUMMARY_BYTES: Final = 3_000
# Lifetime of results of tools that ran before the first question, unless the tool says otherwise.
DEFAULT_PROACTIVE_EXCHANGES: Final = 3
# Default size of the prepared messages.
DEFAULT_WINDOW_TOKENS: Final = 8_000
# Tokens of a message besides its words: role and separators in the chat formats of today's models.
MESSAGE_TOKENS: Final = 4

NOT_SHOWN: Final = "[not shown: the setting external leaves out what tools say]"
SUMMARY_TITLE: Final = "Summary of the conversation so far:"
TOOLS_TITLE: Final = "Results of tools that still hold:"


def memory_of(session: Session) -> dict[str, Any]:
    """Return the memory of a session, made if there is none. Raises InvalidInput for anything but a dict."""
    if not isinstance(session, MutableMapping):
        raise InvalidInput(f"a session is a dict, not {session!r:.80}")
    session.setdefault(SESSION_ID, new_id())
    session.setdefault(COMPRESSIONS, 0)
    memory = session.setdefault(MEMORY, {})
    if not isinstance(memory, dict):
        raise InvalidInput(f"{MEMORY} of a session is a dict, not {memory!r:.80}")
    for name, value in _empty().items():
        memory.setdefault(name, value)
    return memory


def close_cycle(session: Session, question: str, answer: str) -> Shortening[None]:
    """Take an exchange in: shorten long texts, move the oldest exchange into the summary, age the cache."""
    memory, question = memory_of(session), check_text(question, "user_question")
    if size(check_text(answer, "final_answer")) > MAX_ANSWER_BYTES:
        answer = yield from _short(session, answer, SHORT_ANSWER_BYTES)
    # A pasted text is a question too: ten of them would fill the session, and every later answer would be refused.
    if size(question) > MAX_QUESTION_BYTES:
        question = yield from _short(session, question, SHORT_QUESTION_BYTES)
    exchanges: list[dict[str, str]] = [*memory["exchanges"], {"user_question": question, "final_answer": answer}]
    summary = memory["summary"]
    while len(exchanges) > MAX_EXCHANGES:
        summary = "\n".join(filter(None, (summary, in_words(exchanges.pop(0)))))
        if size(summary) > MAX_SUMMARY_BYTES:
            summary = yield from _short(session, summary, SHORT_SUMMARY_BYTES)
    memory["exchanges"], memory["summary"] = exchanges, summary
    count_down(memory["tool_cache"])
    memory["current_cycle"] = _empty()["current_cycle"]


def in_words(exchange: Mapping[str, str]) -> str:
    """Return an exchange as the summary holds it."""
    return f"User: {exchange['user_question']}\nAssistant: {exchange['final_answer']}"


def open_cycle(session: Session, user_message: str) -> None:
    """Begin the cycle of a message. A repeated message continues with the agent's messages so far."""
    cycle = memory_of(session)["current_cycle"]
    if cycle["user_question"] != user_message or cycle["final_answer"] is not None:
        memory_of(session)["current_cycle"] = _empty()["current_cycle"] | {"user_question": user_message}


def prepare_messages(
    memory: Mapping[str, Any], user_message: str, window: int, count: TokenCounter, *, external: bool = True
) -> list[Message]:
    """Return an agent's messages: summary, cached results, exchanges, the message, the agent's messages since.

    external: whether results of tools are shown, without sentences that read like orders. All of it within ``window``
    tokens. The message and the agent's messages since are never left out. Then the summary,
    the exchanges and the cached results are taken as long as they fit, of each the newest first.
    """
    since = [_for_agent(message, external=external) for message in memory["current_cycle"]["agent_messages"]]
    request_messages: list[Message] = [{"role": "user", "content": user_message}, *since]
    room = _TokenRoom(window - sum(_tokens(item, count) for item in request_messages), count)
    summary = [_system(SUMMARY_TITLE, memory["summary"].strip())] if memory["summary"].strip() else []
    summary = room.take_if_fits(summary)
    exchanges: list[Message] = []
    for item in reversed(memory["exchanges"]):
        pair = room.take_if_fits(
            [{"role": "user", "content": item["user_question"]}, {"role": "assistant", "content": item["final_answer"]}]
        )
        if not pair:
            break
        exchanges[:0] = pair
    results = memory["tool_cache"].values() if external else ()
    return [*summary, *_cached_results(results, room), *exchanges, *request_messages]


class ProactiveResult(NamedTuple):
    """The result of a tool that ran before the first question."""

    tool_name: str
    parameters: Mapping[str, Any]
    result: str
    duration: int
    call_id: str


def proactive_results(messages: Sequence[Mapping[str, Any]]) -> list[ProactiveResult]:
    """Return the results in messages of an agent that called tools, in the form of OpenAI's chat completions.

    A message of the role ``tool`` says with ``llm_cache_duration`` how many exchanges it is kept, if not 3. A result
    whose call is missing cannot be looked up, and is left out.
    """
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    results: list[ProactiveResult] = []
    for message in messages:
        calls |= dict(_calls(message))
        call_id = message.get("tool_call_id")
        if message.get("role") == "tool" and call_id in calls and isinstance(message.get("content"), str):
            duration = message.get("llm_cache_duration", DEFAULT_PROACTIVE_EXCHANGES)
            results.append(ProactiveResult(*calls[call_id], message["content"], duration, call_id))
    return results


def read_screen(made: Any) -> tuple[list[Mapping[str, Any]], str]:
    """Return the messages and the words that the tools of a screen made. Raises InvalidInput for anything else."""
    if not isinstance(made, Sequence) or isinstance(made, str) or len(made) != 2:
        raise InvalidInput(f"get_proactive_tool_messages returns messages and a text, not {quote(made)}")
    messages, words = made
    if isinstance(messages, str) or not isinstance(messages, Sequence):
        raise InvalidInput(f"get_proactive_tool_messages returns a list of messages first, not {quote(messages)}")
    for message in messages:
        if not isinstance(message, Mapping):
            raise InvalidInput(f"a message of get_proactive_tool_messages is a mapping, not {quote(message)}")
    return list(messages), check_text(words, "the text of get_proactive_tool_messages")


def screen_messages(
    prompt_injection: str, messages: Sequence[Mapping[str, Any]], *, external: bool = True
) -> list[Message]:
    """Return the messages about the screen: a sentence and the messages of the tools that ran."""
    return [
        {"role": "assistant", "content": f"I can see you're on a specific screen. {prompt_injection}"},
        *(_for_agent(message, external=external) for message in messages),
    ]


def check_text(text: Any, what: str) -> str:
    """Return a text. Raises InvalidInput for anything else."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} is a text, not {text!r:.80}")
    return text


def check_window(tokens: Any) -> int:
    """Return the window. Raises InvalidInput unless it is a whole number above 0."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise InvalidInput(f"window_tokens is a whole number above 0, not {tokens!r:.80}")
    return tokens


def _empty() -> dict[str, Any]:
    return {
        "exchanges": [],
        "summary": "",
        "current_cycle": {"user_question": "", "agent_messages": [], "final_answer": None},
        "tool_cache": {},
        "screen_injection_done": False,
    }


def _short(session: Session, text: str, limit: int) -> Shortening[str]:
    shorter = yield OverlongText(text, limit)
    session[COMPRESSIONS] += shorter.by_model
    return shorter.text


class _TokenRoom:
    """The remaining tokens."""

    def __init__(self, tokens: int, count: TokenCounter) -> None:
        self.left = tokens
        self.count = count

    def take_if_fits(self, messages: list[Message]) -> list[Message]:
        """Return these messages if they fit, else none."""
        tokens = sum(_tokens(message, self.count) for message in messages)
        if tokens > self.left:
            return []
        self.left -= tokens
        return messages


def _cached_results(entries: Any, room: _TokenRoom) -> list[Message]:
    """Return the cached results as a single message, in their order. The newest are taken first."""
    lines: list[str] = []
    for entry in sorted(entries, key=lambda item: float(item["cached_at"]), reverse=True):
        line = render_entry(entry)
        if _tokens(_system(TOOLS_TITLE, "\n".join([line, *lines])), room.count) <= room.left:
            lines.insert(0, line)
    return room.take_if_fits([_system(TOOLS_TITLE, "\n".join(lines))]) if lines else []


def _system(title: str, text: str) -> Message:
    return {"role": "system", "content": f"{title}\n{text}"}


def _tokens(message: Message, count: TokenCounter) -> int:
    """Return the tokens of a message: its words, and calls of tools as JSON."""
    content = message.get("content")
    rest = {key: value for key, value in message.items() if key not in ("role", "content")}
    texts = [content if isinstance(content, str) else json.dumps(content, default=str) if content else ""]
    texts += [json.dumps(rest, default=str)] if rest else []
    return MESSAGE_TOKENS + sum(count(text) for text in texts)


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, Mapping[str, Any]]]]:
    for call in message.get("tool_calls") or ():
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
            if isinstance(arguments, dict):
                yield call["id"], (call["function"]["name"], arguments)
        except (KeyError, TypeError, ValueError):
            continue  # no call that anybody could make again


def _for_agent(message: Mapping[str, Any], *, external: bool) -> Message:
    """Return a message as a provider accepts it: without our mark, and without a result that reads like orders.

    external: whether results are shown at all. A call without one is refused by providers.
    """
    fields = {key: value for key, value in message.items() if key != "llm_cache_duration"}
    if fields.get("role") == "tool" and isinstance(fields.get("content"), str):
        fields["content"] = fit_result(fields["content"]) if external else NOT_SHOWN
    return fields


def memory_state(session: Mapping[str, Any]) -> str:
    """Return the view of a session's memory and its sizes."""
    memory = session[MEMORY]
    parts = (
        f"Session: {session[SESSION_ID]}",
        f"Exchanges: {len(memory['exchanges'])}",
        f"Summary: {size(memory['summary'])} bytes",
        f"LLM compressions: {session[COMPRESSIONS]}",
    )
    return f"=== MEMORY STATE ===\n{' | '.join(parts)}"


def cache_state(session: Mapping[str, Any]) -> str:
    """Return the view of the cached results and their remaining exchanges."""
    cache = session[MEMORY]["tool_cache"]
    lines = [
        f"  • {item['tool_name']}({item['parameters']}): "
        f"{item['remaining_duration']}/{item['original_duration']} exchanges remaining"
        for item in cache.values()
    ]
    return "\n".join(["=== FUNCTION CACHE STATE ===", f"Cached functions: {len(cache)}", *lines])


def agent_receives(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the view of the messages for an agent, numbered from 1."""
    lines = [f"[{number}] {item['role'].upper()}: {_text(item)}" for number, item in enumerate(messages, 1)]
    return "\n".join([f"=== AGENT RECEIVES ({len(messages)} messages) ===", *lines])


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return json.dumps(content or message.get("tool_calls"), ensure_ascii=False, default=str)
