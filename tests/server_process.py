"""Starts ``memwarden serve`` in a process of its own, as a user does."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

START_SECONDS = 60.0


class ServerProcess:
    """A running server. url: where it listens. log: the file of its stderr."""

    def __init__(self, db: str, folder: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        self.log = folder / "server.log"
        self._db = db
        self._options = options
        self._environment = {**os.environ, **(environment or {})}
        self.url = ""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "memwarden", "serve", "--db", self._db, "--port", "0", "--json"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self._options], stdout=subprocess.PIPE, stderr=log, env=self._environment, text=True
            )
        assert self.process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            assert line, f"the server did not start:\n{self.log.read_text('utf-8')}"
            said += line
        self.url = str(json.loads(said)["url"])
        return self

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
