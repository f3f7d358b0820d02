"""The commands ``job`` and ``worker``, as people run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memwarden import Warden, clock
from memwarden.records import Namespace
from memwarden.surfaces.cli.admin import jobs
from memwarden.surfaces.cli.main import run
from memwarden.upkeep.records import JobChange, JobRun


@pytest.fixture
def old_store(tmp_path: Path) -> str:
    """A store in which a memory was told two months ago and nobody asked for it since."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    with pytest.MonkeyPatch.context() as patch, Warden.open(url) as warden:
        now = clock.now()
        patch.setattr(clock, "now", lambda: now - timedelta(days=61))
        warden.scope(user="ana").remember("Ana saw a heron at the lake.", importance=0.2)
    return url


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "memwarden", *words]


def test_a_job_is_tried_run_and_shown(old_store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["job", "run", "expire", "--dry-run", "--db", old_store, "--json"]) == 0
    tried = json.loads(capsys.readouterr().out)
    assert [(item["dry_run"], [change["verb"] for change in item["changes"]]) for item in tried] == [
        (True, ["soft_delete"])
    ]
    assert run(["job", "run", "expire", "--dry-run", "--db", old_store]) == 0
    assert "Would change: 1 expire soft delete, in 1 namespace." in capsys.readouterr().out
    assert run(["job", "run", "expire", "--db", old_store]) == 0
    assert "Changed: 1 expire soft delete, in 1 namespace." in capsys.readouterr().out
    assert run(["find", "--user", "ana", "--db", old_store, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["job", "status", "--db", old_store, "--json"]) == 0
    told = {item["job"]: item for item in json.loads(capsys.readouterr().out)}
    assert (told["expire"]["status"], told["expire"]["changed"]) == ("ok", 1)
    assert run(["job", "run", "expire", "--db", old_store]) == 0
    assert "Nothing to do in 1 namespace." in capsys.readouterr().out
    assert run(["job", "run", "tidy", "--db", old_store]) == 2


def test_a_job_runs_on_everybody_or_on_one_person_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    with Warden.open(url, {"embedder": "none"}) as warden:
        for user in ("ana", "ben"):
            warden.scope(user=user).remember(f"{user.title()} has a boat.")
    for action in (["run", "expire"], ["status"]):
        for chosen, users in (([], {"user/ana", "user/ben"}), (["--user", "ben"], {"user/ben"})):
            assert run(["job", *action, *chosen, "--db", url, "--json"]) == 0
            assert {item["namespace"]["path"] for item in json.loads(capsys.readouterr().out)} == users
        assert run(["job", action[0], "--help"]) == 0
        assert "default: everybody" in " ".join(capsys.readouterr().out.split())


def test_a_job_that_is_named_after_its_change_names_it_once() -> None:
    def summary(job: str, verb: str) -> str:
        done = JobRun(job, Namespace("default", "user/ana"), clock.now(), "ok", (JobChange(verb, "m1", "why"),))
        return jobs.summarize([done])

    assert summary("insights", "insight") == "Changed: 1 insight, in 1 namespace."
    assert summary("consolidate", "merge") == "Changed: 1 consolidate merge, in 1 namespace."


def test_a_worker_does_what_is_due_once(old_store: str) -> None:
    told = _run_worker("--once", "--db", old_store, "--json")
    assert [change["verb"] for item in told if item["job"] == "expire" for change in item["changes"]] == ["soft_delete"]
    assert _run_worker("--once", "--db", old_store, "--json") == []
    with Warden.open(old_store) as warden:
        assert warden.scope(user="ana").find() == []
        (event,) = warden.scope(user="ana").journal.events(node="worker", op="ttl")
        assert event.status == "ok"


def test_a_worker_goes_on_until_it_is_told_to_end(old_store: str) -> None:
    worker = subprocess.Popen(
        command("worker", "--every", "0.2", "--db", old_store, "--json"), stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    assert worker.stdout.readline().startswith("[")  # it has looked once, and rests
    if sys.platform == "linux":
        assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(19, 15 + os.getpriority(os.PRIO_PROCESS, 0))
    worker.send_signal(signal.SIGTERM)
    worker.communicate(timeout=200)
    assert worker.returncode == 0


def _run_worker(*words: str) -> Any:
    done = subprocess.run(command("worker", *words), capture_output=True, text=True, timeout=600, check=True)
    return json.loads(done.stdout)
