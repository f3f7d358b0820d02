"""Starts a PostgreSQL primary and its standby on this machine, for tests of failover."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memwarden_bench.citus_cluster import USER, Node, find_wheel, give_to_system_user, initialise, system_user
from memwarden_bench.peers import optional

psycopg = optional("psycopg")

_SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
# A commit is answered when the standby has it on its disk, too.
_PRIMARY = {**_SETTINGS, "synchronous_standby_names": "*"}


class ServerPair:
    """A primary, and a standby that follows it synchronously."""

    def __init__(self, primary: Node, standby: Node) -> None:
        self.primary = primary
        self.standby = standby

    @property
    def url(self) -> str:
        """The URL of both, with which a client finds the one that takes writes."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in (self.primary, self.standby))
        return f"postgresql://{USER}@{hosts}/{USER}?target_session_attrs=read-write"

    @property
    def url_with_replica(self) -> str:
        """The URL of both, with the standby as a replica that may answer reads."""
        return f"{self.url}&replicas=127.0.0.1:{self.standby.port}"

    def pause_replay(self, paused: bool) -> None:
        """Let the standby receive changes without showing them, or show them again."""
        with psycopg.connect(self.standby.url(), autocommit=True) as db:
            db.execute(f"SELECT pg_wal_replay_{'pause' if paused else 'resume'}()")
            wanted = "paused" if paused else "not paused"
            while db.execute("SELECT pg_get_wal_replay_pause_state()").fetchone() != (wanted,):
                time.sleep(0.01)

    def wait_replayed(self) -> None:
        """Wait until the standby shows what the primary has now."""
        with psycopg.connect(self.primary.url(), autocommit=True) as db:
            (lsn,) = db.execute("SELECT pg_current_wal_flush_lsn()").fetchone()
        with psycopg.connect(self.standby.url(), autocommit=True) as db:
            while db.execute("SELECT pg_last_wal_replay_lsn() < %s", [lsn]).fetchone() == (True,):
                time.sleep(0.01)

    def promote(self) -> None:
        """Make the standby take writes."""
        with psycopg.connect(self.standby.url(), autocommit=True) as db:
            assert db.execute("SELECT pg_promote()").fetchone() == (True,)


@contextmanager
def start_pair(settings: dict[str, str] | None = None) -> Iterator[ServerPair]:
    """Start both servers for the block. settings: of both. Raises RuntimeError if one does not start."""
    folder = Path(tempfile.mkdtemp(prefix="memwarden-pair-"))
    folder.chmod(0o755)
    own = _SETTINGS | (settings or {})
    programs = find_wheel() / "pginstall" / "bin"
    nodes: list[Node] = []
    try:
        nodes.append(Node(programs, initialise(programs, folder), own))
        nodes[0].start()
        data = folder / "standby"
        data.mkdir(mode=0o700)
        give_to_system_user(data)
        copying = [programs / "pg_basebackup", "-D", data, "-R", "-c", "fast", "-d", nodes[0].url()]
        subprocess.run([str(part) for part in copying], check=True, capture_output=True, user=system_user())
        nodes[0].stop()
        nodes[0].settings.update(_PRIMARY | own)
        nodes[0].start()
        nodes.append(Node(programs, data, own))
        nodes[1].start()
        yield ServerPair(nodes[0], nodes[1])
    finally:
        for node in nodes:
            node.stop()
        shutil.rmtree(folder, ignore_errors=True)
