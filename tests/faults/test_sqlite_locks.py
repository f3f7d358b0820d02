"""What this process does with the bytes of its own file takes no lock from it: another process would remove its log."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


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
