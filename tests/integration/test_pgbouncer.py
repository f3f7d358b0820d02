"""PostgreSQL behind PgBouncer, which gives a connection of the server to one transaction at a time."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from memwarden import AsyncWarden
from memwarden.errors import InvalidConfig
from memwarden.stores.postgres.connections import read_url

TASKS, ROUNDS = 20, 5


@pytest.mark.parametrize(
    ("url", "left", "pooled", "replicas"),
    [
        ("postgresql://a@h/d?pgbouncer=true", "postgresql://a@h/d", True, ()),
        ("postgresql://a@h/d?sslmode=require&pgbouncer=true", "postgresql://a@h/d?sslmode=require", True, ()),
        ("postgresql://a@h/d?pgbouncer=false&sslmode=require", "postgresql://a@h/d?sslmode=require", False, ()),
        ("postgresql://a@h/d", "postgresql://a@h/d", False, ()),
        (
            "postgresql://a@h/d?replicas=r,s:5433&sslmode=require",
            "postgresql://a@h/d?sslmode=require",
            False,
            ("r", "s:5433"),
        ),
    ],
)
def test_options_are_understood(url: str, left: str, pooled: bool, replicas: tuple[str, ...]) -> None:
    assert read_url(url) == (left, pooled, replicas)


@pytest.mark.parametrize("option", ["pgbouncer=maybe", "replicas=", "replicas=db-2,,db-3"])
def test_another_value_is_refused(option: str) -> None:
    with pytest.raises(InvalidConfig):
        read_url(f"postgresql://a@h/d?{option}")


@pytest.fixture
def pooled_url(postgres_url: str) -> Iterator[str]:
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "install Debian's package pgbouncer"
    folder = Path(tempfile.mkdtemp(prefix="memwarden-pool-"))  # that of pytest is closed to other users
    place = conninfo_to_dict(postgres_url)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = " ".join(f"{name}={place[name]}" for name in ("host", "port", "user", "password") if place.get(name))
    settings = f"""[databases]
{place["dbname"]} = {target} dbname={place["dbname"]}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
logfile = {folder}/pgbouncer.log
"""
    (folder / "pgbouncer.ini").write_text(settings)
    folder.chmod(0o777)
    socket_folder = Path(str(place["host"]))
    mode = socket_folder.stat().st_mode
    socket_folder.chmod(mode | 0o011)  # the user of PgBouncer passes through to the socket
    user = ["-u", "nobody"] if os.getuid() == 0 else []
    with subprocess.Popen([program, "-q", *user, str(folder / "pgbouncer.ini")]) as process:
        for _ in range(100):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"postgresql://{place.get('user', 'postgres')}@127.0.0.1:{port}/{place['dbname']}?pgbouncer=true"
        process.terminate()
    socket_folder.chmod(mode)
    shutil.rmtree(folder)


@pytest.mark.soak
async def test_a_pool_of_transactions_is_served(pooled_url: str) -> None:
    async with AsyncWarden.open(pooled_url) as warden:

        async def work(number: int) -> None:
            me = warden.scope(user=f"ana-{number}", thread="t1")
            for turn in range(ROUNDS):
                await me.observe({"role": "user", "content": f"My kettle number {turn} is copper."})
                assert (await me.query(f"Which kettle is number {turn}?", threshold=0.0)).items

        await asyncio.gather(*(work(number) for number in range(TASKS)))
        assert len(await warden.users()) == TASKS
