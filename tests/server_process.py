"""Starts ``memwarden serve`` in a process of its own.

It is forked from a process that has imported the server. A server with several workers starts them from an interpreter
of its own, as a user's does; ``test_http_container`` and the pages of the documents start the command itself.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from forks import FORKS, run_command

START_SECONDS = 60.0
_NUMBERS = count()


class Forked:
    """A command in a fork, with the names of ``subprocess.Popen``."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        output = log.with_name(f"output{next(_NUMBERS)}")
        os.mkfifo(output)
        self._process = FORKS.Process(target=run_command, args=(words, environment, output, log), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout = output.open(encoding="utf-8")

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, seconds: float) -> None:
        self._process.join(seconds)
        assert self._process.exitcode is not None, f"it goes on after {seconds} seconds"

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


class ServerProcess:
    """A running server. url: where it listens. log: the file of its stderr."""

    def __init__(self, db: str, folder: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.log = folder / "server.log"
        self._db = db
        self._options = options
        self._environment = {**os.environ, **(environment or {})}
        self.url = ""

    def __enter__(self) -> Self:
        words = ["serve", "--db", self._db, "--port", "0", "--json", *self._options]
        self.process: Forked | subprocess.Popen[str] = (
            self._start(words) if "--workers" in words else Forked(words, self._environment, self.log)
        )
        assert self.process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            assert line, f"the server did not start:\n{self.log.read_text('utf-8')}"
            said += line
        self.url = str(json.loads(said)["url"])
        return self

    def _start(self, words: list[str]) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "memwarden", *words]
        with self.log.open("ab") as log:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, env=self._environment, text=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop(signal.SIGTERM)

    def stop(self, number: int) -> None:
        """Send a signal and wait for the end."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(300)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def client(self, key: str | None = None) -> httpx2.Client:
        """Return a client of this server."""
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=30.0)


def free_port() -> int:
    """Return a port that no program listens on, for a server whose URL has to be known before it starts."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
