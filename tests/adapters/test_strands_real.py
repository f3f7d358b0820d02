"""Our session manager beside Strands' own, and inside its agents. Run by ``make adapters``."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("strands")

from strands import Agent
from strands.models import Model
from strands.session import FileSessionManager
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage, SessionType

from memwarden import MemwardenSessionManager, Warden

CONFIG = {"embedder": "none"}
AT = "2026-01-01T00:00:00+00:00"


def outcome(call: Callable[[Any], Any], manager: Any) -> Any:
    try:
        return call(manager)
    except Exception as error:
        return type(error)


def a_message(chance: random.Random, number: int) -> SessionMessage:
    content: list[Any] = [{"text": f"Number {number} \u0000 \U0001f600"}]
    if chance.random() < 0.3:
        content.append({"image": {"format": "png", "source": {"bytes": b"\x00\xff"}}})
    message: Any = {"role": chance.choice(("user", "assistant")), "content": content}
    return SessionMessage(message, chance.randrange(30), None, AT, AT)


def create_new(manager: Any, session: str, agent: str, message: SessionMessage) -> Any:
    """Strands' own manager replaces a message of the same number, ours refuses it."""
    if isinstance(manager, FileSessionManager) and manager.read_message(session, agent, message.message_id):
        raise SessionException("taken")
    return manager.create_message(session, agent, message)


def choose_call(chance: random.Random, step: int) -> tuple[str, str, str, Callable[[Any], Any]]:
    """Return a session, an agent, and the name of a call of a manager with the call."""
    session, agent = chance.choice(("s", "s.t", "s%2Et")), chance.choice(("a", "a.b%2E"))
    state, message = {"step": step, "raw": b"\x00"}, a_message(chance, step)
    page = chance.choice(((), (3,), (3, 2), (None, 5)))
    calls: dict[str, Callable[[Any], Any]] = {
        "create_session": lambda m: m.create_session(Session(session, SessionType.AGENT, AT, AT)),
        "read_session": lambda m: m.read_session(session),
        "create_agent": lambda m: m.create_agent(session, SessionAgent(agent, state, {}, {}, AT, AT)),
        "read_agent": lambda m: m.read_agent(session, agent),
        "update_agent": lambda m: m.update_agent(session, SessionAgent(agent, state, {"x": 1}, {}, "new", AT)),
        "create_message": lambda m: create_new(m, session, agent, message),
        "read_message": lambda m: m.read_message(session, agent, message.message_id),
        "update_message": lambda m: m.update_message(session, agent, message),
        "list_messages": lambda m: m.list_messages(session, agent, *page),
        "delete_session": lambda m: m.delete_session(session),
    }
    name = chance.choices(list(calls), (2, 1, 2, 1, 1, 6, 2, 1, 2, 0.2))[0]
    return session, agent, name, calls[name]


@pytest.mark.parametrize(("engine", "steps"), [("sqlite", 2_000), ("memory", 300)])
def test_random_calls_are_answered_as_by_strands_own_manager(tmp_path: Path, engine: str, steps: int) -> None:
    chance = random.Random(steps)
    url = f"sqlite:///{tmp_path / 's.db'}" if engine == "sqlite" else "memory://"
    with Warden.open(url, config=CONFIG) as warden:
        ours = MemwardenSessionManager("first", warden.scope(user="ana"), observe=False)
        theirs = FileSessionManager("first", str(tmp_path / "theirs"))
        for step in range(steps):
            session, agent, name, call = choose_call(chance, step)
            # Strands writes into folders that create_session and create_agent make.
            if name != "create_session" and theirs.read_session(session) is None:
                continue
            if "message" in name and theirs.read_agent(session, agent) is None:
                continue
            assert outcome(call, ours) == outcome(call, theirs), name


class EchoModel(Model):  # type: ignore[misc]
    """Stands in for a paid model: it keeps what it was given."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def update_config(self, **_: Any) -> None:
        pass

    def get_config(self) -> Any:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.prompts.append(str(messages))
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": f"Heard {len(self.prompts)}."}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def test_a_session_goes_on_in_another_process_and_is_remembered(tmp_path: Path) -> None:
    model = EchoModel()
    for text in ("I am allergic to peanuts.", "And to almonds."):
        with Warden.open(f"sqlite:///{tmp_path / 's.db'}", config=CONFIG) as warden:
            manager = MemwardenSessionManager("monday", warden.scope(user="ana"))
            agent = Agent(agent_id="helper", model=model, session_manager=manager, callback_handler=None)
            assert "Heard" in str(agent(text))
    assert "peanuts" in model.prompts[1]
    assert "Heard 1." in model.prompts[1]
    with Warden.open(f"sqlite:///{tmp_path / 's.db'}", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        turns = ana.find({"channel": "turn"}, order_by="written", descending=False)
        assert [(turn.text, turn.thread_id) for turn in turns] == [
            ("I am allergic to peanuts.", "monday"), ("Heard 1.", "monday"),
            ("And to almonds.", "monday"), ("Heard 2.", "monday"),
        ]  # fmt: skip
        assert "peanuts" in ana.context("What am I allergic to?").text
        assert warden.scope(user="bob").context("What am I allergic to?").text == ""
        manager = MemwardenSessionManager("monday", ana)
        first = manager.list_messages("monday", "helper")[0]
        first.redact_message = {"role": "user", "content": [{"text": "[redacted]"}]}
        manager.update_message("monday", "helper", first)
        assert "peanuts" not in ana.context("What am I allergic to?").text


def said(text: str, number: int = 0) -> SessionMessage:
    return SessionMessage({"role": "user", "content": [{"text": text}]}, number, None, AT, AT)


def test_a_name_that_is_used_again_is_another_session() -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        for text in ("My dog is called Rex.", "My cat is called Tom."):
            manager = MemwardenSessionManager("monday", ana)
            manager.create_agent("monday", SessionAgent("helper", {}, {}))
            manager.create_message("monday", "helper", said(text))
            manager.delete_session("monday")
        assert {turn.text for turn in ana.find({"channel": "turn"})} == {
            "My dog is called Rex.",
            "My cat is called Tom.",
        }


def test_the_number_of_a_message_is_taken_once() -> None:
    with Warden.open("memory://", config=CONFIG) as warden:
        ana = warden.scope(user="ana")
        first, second = MemwardenSessionManager("tuesday", ana), MemwardenSessionManager("tuesday", ana)
        first.create_agent("tuesday", SessionAgent("helper", {}, {}))
        for _ in range(2):
            first.create_message("tuesday", "helper", said("I am Ana."))
        with pytest.raises(SessionException):
            second.create_message("tuesday", "helper", said("I am Bo."))
        assert [turn.text for turn in ana.find({"channel": "turn"})] == ["I am Ana."]


def test_an_agent_and_a_multi_agent_keep_apart() -> None:
    class Multi:
        id = "agent"

        def serialize_state(self) -> dict[str, Any]:
            return {"step": 1}

    with Warden.open("memory://", config=CONFIG) as warden:
        manager = MemwardenSessionManager("s", warden)
        manager.create_agent("s", SessionAgent("multi", {}, {}))
        manager.create_multi_agent("s", Multi())
        assert manager.read_agent("s", "multi") is not None
        assert manager.read_multi_agent("s", "agent") == {"step": 1}
