"""A scripted chat model behind a real endpoint: it says the labelled facts of what it is shown.

It stands only for the model. So what is measured is the way to it and back: what it is shown, what is asked, checked,
stored, updated and found again. It knows no more of the time after a message than the message does.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from memwarden_bench.keep import LabelledFact, LabelledHistory, holds_value


class Oracle:
    """Answers requests of extraction from labels. asked: the ids of the messages of each request."""

    def __init__(self, histories: Sequence[LabelledHistory]) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.schemas: list[Mapping[str, Any]] = []
        self.prompts: list[str] = []
        self._histories = histories
        self._lock = Lock()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a chat completion request."""
        schema = request["response_format"]["json_schema"]["schema"]
        prompt = request["messages"][-1]["content"]
        if "facts" not in schema["properties"]:  # pairs of statements, of which labels say nothing
            return {"relations": ["related"] * prompt.count('"newer"')}
        sections = read_sections(prompt)
        with self._lock:
            self.asked.append(tuple(line["id"] for line in sections["Messages"]))
            self.schemas.append(schema)
            self.prompts.append(prompt)
        return self._say(sections)

    def _say(self, sections: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, Any]:
        history, shown = self._history(sections["Messages"]), [line["id"] for line in sections["Messages"]]
        at = {message.id: message.created_at for thread in history.threads for message in thread.messages}
        until = at[shown[-1]]
        by_text = {statement_of(fact): fact for fact in history.facts}
        known = {line["id"]: by_text[line["text"]] for line in sections["Known"] if line["text"] in by_text}
        saying = [fact for fact in history.facts if self._is_new(fact, shown, known.values(), at)]
        sayable = {fact.id for fact in saying}
        facts = [
            {
                "text": statement_of(fact),
                "sources": [name for name in fact.said_in if name in shown],
                "category": category_of(fact, history),
                "importance": 3 * fact.worth,
                "valid_from": fact.valid_from,
                "valid_to": fact.valid_to if is_over(fact, until) or fact.superseded_by in sayable else None,
                "replaces": [name for name, old in known.items() if old.superseded_by == fact.id],
            }
            for fact in saying
        ]
        ended = [
            {"known": name, "on": fact.valid_to, "sources": shown[-1:]}
            for name, fact in known.items()
            if is_over(fact, until) and not fact.superseded_by
        ]
        return {"facts": facts, "ended": ended, "summary": None}

    def _history(self, lines: Sequence[Mapping[str, str]]) -> LabelledHistory:
        for history in self._histories:
            said = {message.id: message.content for thread in history.threads for message in thread.messages}
            same = [said.get(line["id"], "").split() == line["text"].split() for line in lines]
            if 2 * sum(same) > len(same):  # in some a secret is redacted
                return history
        raise KeyError("these messages are of no history that the oracle knows")

    def _is_new(self, fact: LabelledFact, shown: Sequence[str], known: Any, at: Mapping[str, datetime]) -> bool:
        """Whether a message that is shown says a fact that was not known, and was not over before it was known."""
        said = [name for name in fact.said_in if name in shown]
        return bool(said) and fact not in known and said[0] == min(fact.said_in, key=lambda name: at[name])


def category_of(fact: LabelledFact, history: LabelledHistory) -> str:
    """Return the category of a fact: of whom most of a history tells the profile, of others the relationships."""
    subjects = Counter(each.subject for each in history.facts)
    return "profile" if fact.subject == subjects.most_common(1)[0][0] else "relationships"


def is_over(fact: LabelledFact, moment: datetime) -> bool:
    """Whether a fact has ended by a moment."""
    return fact.valid_to is not None and date.fromisoformat(fact.valid_to) <= moment.date()


def statement_of(fact: LabelledFact) -> str:
    """Return the words of a fact, with its value where they do not hold it."""
    if holds_value(fact.statement, fact.value):
        return fact.statement
    return f"{fact.statement.rstrip('.。')}: {fact.value}."


def read_sections(prompt: str) -> dict[str, list[dict[str, str]]]:
    """Read the lines of a request by the title that they stand under."""
    found: dict[str, list[dict[str, str]]] = {"Known": [], "Before": [], "Messages": []}
    title = ""
    for line in prompt.splitlines():
        if line.startswith("{"):
            found[title].append(json.loads(line))
        elif line.rstrip(":") in found:
            title = line.rstrip(":")
    return found


@contextmanager
def serve_labels(histories: Sequence[LabelledHistory]) -> Iterator[str]:
    """Serve an oracle of histories on this machine; yield the base URL."""
    with serve(Oracle(histories)) as url:
        yield url


@contextmanager
def serve(oracle: Oracle, port: int = 0) -> Iterator[str]:
    """Serve an oracle on this machine; yield the base URL."""

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = json.dumps(oracle.answer(request), ensure_ascii=False)
            body = {
                "id": "1", "object": "chat.completion", "created": 0, "model": "oracle",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
                ],
            }  # fmt: skip
            sent = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            """Nothing: what is said stays out of the log."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Endpoint)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
