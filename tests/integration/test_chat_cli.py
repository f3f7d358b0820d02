"""``memwarden chat``, run as a process: through a pipe, in a terminal, with an endpoint, interrupted."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memwarden import Warden
from memwarden.surfaces.cli.main import run
from upstream import Upstream

MIA = "My daughter Mia is allergic to peanuts and I need ideas for snacks."
ASKED = "Which snacks can my daughter Mia, who is allergic to peanuts, take to school?"
CHAT = [sys.executable, "-m", "memwarden", "chat", "--embedder", "none", "--user", "ana"]
SECONDS = 60


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/m.db"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "lines.txt"
    file.write_text("Noted.\n\nRice cakes \x1b[31mare fine.\n", encoding="utf-8")
    return file


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(("MEMWARDEN_", "OPENAI_"))}


Talk = Callable[..., tuple[str, str]]


@pytest.fixture
def talk(db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Runs the command with lines from a pipe, and returns what it says; in this process, which saves seconds."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def say(*arguments: str, lines: str, code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        got = run(["chat", "--embedder", "none", "--user", "ana", "--db", db, *arguments])
        shown = capsys.readouterr()
        assert got == code, shown.err
        return shown.out, shown.err

    return say


def turns(db: str, thread: str = "chat") -> list[tuple[str | None, str]]:
    with Warden.open(db, {"embedder": "none"}) as warden:
        filters = {"channel": "turn", "thread_id": thread}
        found = warden.scope(user="ana").find(filters, order_by="written", descending=False)
    return [(item.role, item.text) for item in found]


def test_a_scripted_model_shows_what_was_put_in_and_what_was_kept(db: str, talk: Talk, script: Path) -> None:
    shown, _ = talk(
        "--script", str(script), "--embedder", "auto", lines=f"{MIA}\n\n{ASKED}\n/help\n/quit\nnever said\n"
    )
    assert "Noted.\nkept (created): " in shown
    assert "allergic to peanuts" in " ".join(shown.split())
    told, _ = talk("--script", str(script), "--thread", "t2", "--embedder", "auto", lines=f"{ASKED}\n")
    assert "memories in the prompt" in told
    assert "\x1b" not in shown + told
    assert "Ctrl-D" in shown
    assert turns(db) == [
        ("user", MIA),
        ("assistant", "Noted."),
        ("user", ASKED),
        ("assistant", "Rice cakes \x1b[31mare fine."),
    ]
    assert len(turns(db, "t2")) == 2


def test_json_tells_one_exchange_a_line(talk: Talk, script: Path) -> None:
    told, _ = talk("--script", str(script), "--json", "--embedder", "auto", lines=f"{MIA}\n/quit\n")
    first, last = map(json.loads, told.splitlines())
    assert (first["message"], first["answer"], first["action"]) == (MIA, "Noted.", None)
    assert [item["outcome"] for item in first["stored"]] == ["created", "created"]
    assert first["kept"]
    assert (last["answer"], last["action"]) == (None, "break")


def test_an_endpoint_is_asked_and_its_failure_ends_nothing(db: str, talk: Talk, upstream: Upstream) -> None:
    upstream.says("Rice cakes.", after="school")
    endpoint = ("--url", f"{upstream.url}/v1", "--model", "gpt-5", "--system", "Be brief.")
    shown, said = talk(*endpoint, lines=f"something that no fixture answers\n{ASKED}\n", code=1)
    assert "Rice cakes.\n" in shown, said
    assert "503" in said
    assert upstream.prompts()[-1]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert turns(db)[-2:] == [("user", ASKED), ("assistant", "Rice cakes.")]


@pytest.mark.parametrize("bad", ["\x01\x02\x03", "much " * 300_000], ids=["control", "long"])
def test_a_line_that_cannot_be_kept_ends_no_conversation(db: str, talk: Talk, script: Path, bad: str) -> None:
    told, _ = talk("--script", str(script), "--json", lines=f"{bad}\n{ASKED}\n", code=1)
    first, second = map(json.loads, told.splitlines())
    assert first["error"]["type"] in ("InvalidInput", "NotKept")
    assert (second["answer"], second["failures"]) == ("Noted.", [])
    assert turns(db) == [("user", ASKED), ("assistant", "Noted.")]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--model NAME"),
        (["--script", "nowhere.txt"], "cannot be read"),
        (["--script", os.devnull], "no line"),
        (["--model", "m", "--mode", "sideways"], "memory_injection_mode"),
        (["--model", "m"], "cannot be used"),
    ],
)
def test_wrong_use_is_told(talk: Talk, arguments: list[str], words: str) -> None:
    _, said = talk(*arguments, lines="Hello?\n", code=2)
    assert words in said


def test_help_names_what_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["chat", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "/quit (or Ctrl-D) ends; /save looks through the conversation" in shown
    assert "With --extraction on_save nothing but the words is kept until you type /save." in shown


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["terminal", "json"])
def test_an_endpoint_that_does_not_answer_is_named(talk: Talk, as_json: list[str]) -> None:
    with socket.socket() as taken:  # bound and not listening: whoever connects is refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        told, said = talk("--url", url, "--model", "gpt-5", *as_json, lines="Hello there\n", code=1)
    assert f"Asked at {url}/chat/completions" in " ".join((told + said).split())


def test_the_list_of_conversations_names_whose_it_is(
    db: str, talk: Talk, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    talk("--script", str(script), lines=f"{MIA}\n")
    assert run(["thread", "list", "--db", db, "--user", "bob", "--embedder", "none"]) == 0
    assert "No conversation of the user 'bob' was observed; --user names another." in capsys.readouterr().out


class Screen:
    """What a terminal shows, read as it comes."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._waiting = ""

    def until(self, words: str) -> str:
        """What is shown from where the last call ended to the end of some words."""
        ends = time.monotonic() + SECONDS
        while words not in self._waiting:
            assert time.monotonic() < ends, self._waiting
            if select.select([self._terminal], [], [], 0.2)[0]:
                self._waiting += os.read(self._terminal, 65_536).decode()
        end = self._waiting.index(words) + len(words)
        shown, self._waiting = self._waiting[:end], self._waiting[end:]
        return shown


def test_ctrl_c_in_a_terminal_stops_the_answer_and_stores_what_was_shown(db: str, tmp_path: Path) -> None:
    script = tmp_path / "long.txt"
    script.write_text(" ".join(f"word{number}" for number in range(2_000)) + "\nBye.\n", encoding="utf-8")
    ours, theirs = pty.openpty()
    command = [*CHAT, "--db", db, "--script", str(script)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment()) as process:
        try:
            os.close(theirs)
            screen = Screen(ours)
            screen.until("> ")
            os.write(ours, b"Tell me a lot\n")
            shown = screen.until("word7")
            process.send_signal(signal.SIGINT)
            shown += screen.until("stopped")
            screen.until("> ")
            os.write(ours, b"Enough\n")
            screen.until("Bye.")
            screen.until("> ")
            os.write(ours, b"\x04")  # Ctrl-D
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()
            os.close(ours)
    (_, first), (_, answer), *rest = turns(db)
    assert first == "Tell me a lot"
    plain = re.sub(r"\x1b\[\d*m", "", shown.replace("\r\n", "\n"))
    words = plain.split("Tell me a lot\n")[-1].split("\n(stopped")[0]
    assert words.startswith(answer.rstrip()) or answer.startswith(words.rstrip())
    assert abs(len(answer) - len(words.rstrip())) <= len(" word1999")  # the last one may not have been shown yet
    assert rest == [("user", "Enough"), ("assistant", "Bye.")]
