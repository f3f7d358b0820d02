"""``memwarden context --task``, run as a process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from memwarden import Warden
from memwarden.surfaces.cli.main import run
from memwarden.tiers import ContextRequest, Task

QUESTION = "Where do sessions live?"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('cli') / 'tiers.db'}"
    with Warden.open(url, config={}) as warden:
        warden.tiers.task("k1").add_reasoning("The cookie has no Secure flag.", "plan")
        project = warden.tiers.project("shop")
        project.add_decision("Sessions live in PostgreSQL.", ["db"])
        project.add_convention("Bake bread on Sundays.", "kitchen")
        for number in range(12):
            warden.tiers.global_store().add_pattern(f"Pattern {number}.", "x")
    return url


def cli(url: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "memwarden", "context", *words, "--db", url],
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def here(url: str, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints in this process, which spares starting another."""
    assert run(["context", *words, "--db", url]) == 0
    return capsys.readouterr().out


def test_the_context_alone_goes_to_stdout(url: str) -> None:
    said = cli(url, QUESTION, "--task", "k1", "--project", "shop")
    with Warden.open(url, config={}) as warden:
        request = ContextRequest(500, query=QUESTION)
        package = warden.tiers.assembler().build_context(Task("k1", {"project_id": "shop"}), request)
    assert said == package.text + "\n"
    assert "- [decision] Sessions live in PostgreSQL." in said


def test_explain_shows_each_item_in_and_out_with_reasons(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--task", "k1", "--project", "shop", "--budget-tokens", "60", "--explain", "--head-tail", "1"]
    said = " ".join(here(url, capsys, *words).split())
    assert "Why each is in:" in said
    assert "at an end of the task, importance 0.50, just now; within the task's share" in said
    assert "Left out:" in said
    assert "budget: it does not fit into what is left of the token budget" in said
    assert "of 60 tokens" in said
    out = int(said.split("and ")[-1].split()[0]) if "more: global budget" in said else 0
    assert out > 0


def test_json_is_the_whole_package(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(here(url, capsys, "--task", "k1", "--project", "shop", "--shares", "20/80/0", "--json"))
    assert told["allotted"] == {"task": 298, "project": 1193, "global": 0}  # of 1,492 tokens, without the tags
    assert [item["tier"] for item in told["included"]] == ["task", "project", "project"]
    assert told["included"][1]["item"]["payload"] == {"decision": "Sessions live in PostgreSQL."}
    assert {item["gate"] for item in told["left_out"]} == {"share"}
    assert len(told["left_out"]) == 12


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((QUESTION, "--project", "shop"), "go with --task ID"),
        (("--task", "k1", "--participant", "Tomas"), "--participant and --filter"),
        (("--task", "k1", "--shares", "40/60"), "--shares takes the per cent"),
    ],
)
def test_wrong_use(url: str, words: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["context", *words, "--db", url]) == 2
    assert says in capsys.readouterr().err


def test_a_task_without_anything_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = f"sqlite:///{tmp_path / 'empty.db'}"
    with Warden.open(empty, config={}):
        pass
    assert "there is nothing in the task" in here(empty, capsys, "--task", "nobody", "--explain")
