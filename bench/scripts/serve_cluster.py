"""Serve the demo's history from three nodes of Citus, until Ctrl-C: serve_cluster.py FOLDER PORT.

FOLDER holds a build of Citus and its ``lay_over.py`` (:mod:`memwarden_bench.citus_cluster`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

from memwarden_bench.citus_cluster import start_cluster

MEMWARDEN = Path(sys.executable).with_name("memwarden")
HISTORY = Path(__file__).parents[2] / "src/memwarden/surfaces/cli/demo/history.json"


def stop(number: int, frame: FrameType | None) -> None:
    """End the program as Ctrl-C does, so that the nodes are stopped."""
    raise KeyboardInterrupt


def serve(url: str, port: str) -> None:
    """Fill a database with the demo and serve it until this program is stopped."""
    subprocess.run(
        [MEMWARDEN, "observe", HISTORY, "--user", "ines", "--db", url],
        check=True,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"MEMWARDEN_EXTRACTION": "every_turn"},
    )
    subprocess.run([MEMWARDEN, "doctor", "--db", url], check=True)
    server = subprocess.Popen([MEMWARDEN, "serve", "--db", url, "--port", port], start_new_session=True)
    try:
        server.wait()
    finally:
        server.terminate()
        server.wait(60)


def main(citus: Path, port: str) -> None:
    signal.signal(signal.SIGTERM, stop)
    try:
        with start_cluster(citus) as cluster:
            print("A coordinator and two workers of Citus run.", flush=True)
            serve(cluster.new_database(), port)
    except KeyboardInterrupt:
        print("The server and its nodes are stopped.", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
