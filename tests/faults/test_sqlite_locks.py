"""What this process does with the bytes of its own file takes no lock from it: another process would remove its log."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver

from memwarden import Warden
from memwarden.errors import InvalidInput

CONFIG = {"embedder": "none"}
_OTHER = """
import sys
from memwarden import Warden
with Warden.open(sys.argv[1], config={"embedder": "none"}) as warden:
    print([item.text for item in warden.scope(user="ana").find(order_by="created_at", descending=False)])
"""


def opened(file: Path) -> Warden:
    return Warden.open(f"sqlite:///{file}", config=CONFIG)


def seen_by_another_process(file: Path) -> str:
    """What a process reads that opens the file, and closes it as the last who has it open, if it takes it for that."""
    command = [sys.executable, "-c", _OTHER, f"sqlite:///{file}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout.strip()


def open_again(file: Path) -> None:
    with opened(file) as again:
        assert again.scope(user="ana").find()


def verify(file: Path) -> None:
    with opened(file) as other:
        other.scope(user="bob").remember("Bob has a van.")
        receipt = other.erase(user="bob", confirm="bob")
        assert other.verify_erased(receipt) == []


def try_to_import(file: Path) -> None:
    with Warden.open("memory://", config=CONFIG) as other, pytest.raises(InvalidInput, match="none of the formats"):
        other.import_files(file, user="bob")


@pytest.mark.parametrize("look", [open_again, verify, try_to_import])
def test_what_is_acknowledged_after_the_file_was_looked_at_is_there(
    look: Callable[[Path], None], tmp_path: Path
) -> None:
    file = tmp_path / "a.db"
    with opened(file) as warden:
        me = warden.scope(user="ana")
        me.remember("Ana keeps bees.")
        look(file)
        assert seen_by_another_process(file) == "['Ana keeps bees.']"
        me.remember("Rex is a dog from Porto.")
        assert seen_by_another_process(file) == "['Ana keeps bees.', 'Rex is a dog from Porto.']"
        assert file.with_name("a.db-wal").exists()


_READER = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    print([row[0] for row in db.execute("SELECT thread_id FROM checkpoints")])
db.close()
"""


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside an open store"])
def test_the_file_of_another_library_that_is_open_here_is_imported(beside: bool, tmp_path: Path) -> None:
    """A program brings in the conversations of its own saver, which goes on writing."""
    file = tmp_path / "saver.db"

    def read() -> str:
        ran = subprocess.run([sys.executable, "-c", _READER, str(file)], capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    with ExitStack() as ends:
        if beside:
            ends.enter_context(opened(tmp_path / "a.db"))
        saver = ends.enter_context(SqliteSaver.from_conn_string(str(file)))
        put_checkpoint(saver, "t1")
        with Warden.open("memory://", config=CONFIG) as warden:
            assert warden.import_files(file, user="ana").threads == 1
        assert read() == "['t1']"  # as the last who has the file open, it would remove the log
        put_checkpoint(saver, "t2")
        assert file.with_name("saver.db-wal").exists()
        assert read() == "['t1', 't2']"


def put_checkpoint(saver: SqliteSaver, thread: str) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": [HumanMessage("I keep bees.", id=f"m-{thread}")]}
    saver.put({"configurable": {"thread_id": thread, "checkpoint_ns": ""}}, checkpoint, {}, {})


def test_no_descriptor_stays_open_after_the_last_store(tmp_path: Path) -> None:
    file = tmp_path / "a.db"

    def held() -> list[Path]:
        links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        return [link.readlink() for link in links if link.readlink().is_relative_to(tmp_path)]

    for _ in range(2):
        with opened(file) as warden:
            warden.scope(user="ana").remember("Ana keeps bees.")
            for _ in range(3):
                open_again(file)
            before = len(held())
            open_again(file)
            assert len(held()) == before
        assert held() == []
