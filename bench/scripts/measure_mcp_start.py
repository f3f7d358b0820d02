"""How long ``memwarden mcp`` takes to answer a client's greeting, beside an empty server of the same package.

Both are started in turn, up to the answers of ``initialize`` and ``tools/list``; the store exists.
``python bench/scripts/measure_mcp_start.py [RUNS]``
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "clock", "version": "1"}}
LINES = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": GREETING},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
EMPTY = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("empty")
@server.tool()
def nothing(text: str) -> str:
    "Do nothing."
    return text
server.run()
"""


def measure(command: list[str], folder: str) -> float:
    """Return the seconds from the start of a process to the answer of its last line."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMWARDEN_")}
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=environment
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for line in LINES:
            server.stdin.write(json.dumps(line).encode() + b"\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        took = time.perf_counter() - began
        server.stdin.close()
        assert answers[-1]["result"]["tools"]
    return took


def main(runs: int) -> None:
    """Print the medians of both, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        ours = [str(Path(sys.executable).with_name("memwarden")), "mcp", "--db", f"sqlite:///{folder}/memory.db"]
        empty = [sys.executable, "-c", EMPTY]
        for command in (ours, empty):
            measure(command, folder)  # makes the store, and compiles
        pairs = [(measure(ours, folder), measure(empty, folder)) for _ in range(runs)]
    mine, nothing = (median(times) for times in zip(*pairs, strict=True))
    print(f"memwarden mcp {mine:.2f} s, an empty server {nothing:.2f} s, ratio {mine / nothing:.2f}, of {runs} runs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
