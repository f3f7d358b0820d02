"""Which messages of a call the thread holds already."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memwarden.records import Channel, Memory, Namespace
from memwarden.remember.ingest.messages import Message
from memwarden.remember.ingest.new_turns import find_new_turns

ALREADY_BEHIND = "it stands before turns that are stored already; give messages ids to change what was said before"

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)


def thread_of(talk: list[str]) -> list[Memory]:
    """Turns ``t0``, ``t1``, ... of texts that begin with who said them: ``u`` the user, ``a`` the assistant."""
    return [
        Memory(
            id=f"t{number}", namespace=Namespace("default", "user/ana"), text=item[2:], created_at=NOON,
            updated_at=NOON,
            channel=Channel.TURN, role="user" if item[0] == "u" else "assistant", sources=(f"t{number}",),
        )
        for number, item in enumerate(talk)
    ]  # fmt: skip


def told(call: list[str], thread: list[str]) -> list[str]:
    """For each message of a call: the turn that it is, ``new``, or ``past`` for one that is not stored any more."""
    said = [Message("user" if item[0] == "u" else "assistant", item[2:]) for item in call]
    keys = find_new_turns(said, thread_of(thread))
    return [key.known or ("past" if key.refused == ALREADY_BEHIND else "new") for key in keys]


CASES = {
    "the next message": (["u Hi.", "a Hello.", "u Cake?"], ["u Hi.", "a Hello."], "t0 t1 new"),
    "a window": (["a Hello.", "u Cake?"], ["u Hi.", "a Hello."], "t1 new"),
    "only what is new": (["u Cake?"], ["u Hi.", "a Hello."], "new"),
    "the same words again": (["u Yes."], ["u Yes.", "a Done."], "new"),
    "an exchange with the same words again": (["u Yes.", "a Well."], ["u Yes.", "a Done."], "new new"),
    "an answer without its last spaces": (["u Hi.", "a Hello.", "u Cake?"], ["u Hi.", "a Hello.\n"], "t0 t1 new"),
    "an answer made of two": (
        ["u Hi.", "a Let me look.\nNone.", "u Cake?"],
        ["u Hi.", "a Let me look.", "a None."],
        "t0 t2 new",
    ),
    "an answer made of three": (
        ["u Hi.", "a Hello.", "u Nuts?", "a I look. I read.None.", "u Cake?"],
        ["u Hi.", "a Hello.", "u Nuts?", "a I look. ", "a I read.", "a None."],
        "t0 t1 t2 t5 new",
    ),
    "only the last answer of two": (
        ["u Hi.", "a None.", "u Cake?"],
        ["u Hi.", "a Let me look.", "a None."],
        "t0 t2 new",
    ),
    "answers apart that were heard as one": (
        ["u Hi.", "a Let me look.", "a None.", "u Cake?"],
        ["u Hi.", "a Let me look. None."],
        "t0 t1 t1 new",
    ),
    "what was forgotten stays so": (
        ["u Hi.", "a Hello.", "u Nuts?", "a None.", "u Cake?"],
        ["u Hi.", "u Nuts?", "a None."],
        "t0 past t1 t2 new",
    ),
    "words of users are not joined": (["u I am here.", "u Cake?"], ["u I am", "u here."], "new new"),
}


@pytest.mark.parametrize(("call", "thread", "wanted"), CASES.values(), ids=CASES)
def test_what_of_a_call_is_new(call: list[str], thread: list[str], wanted: str) -> None:
    assert told(call, thread) == wanted.split()
