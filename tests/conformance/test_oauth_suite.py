"""The scenarios of MCP's conformance suite for authorization servers, against ours.

The suite's other authorization scenarios test clients. It checks that metadata is right and that a code is granted and
redeemed by PKCE; the person at the page for consent is played by the test.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import httpx2
from test_mcp_suite import NODE, PROGRAMS

from http_calls import make_key
from memwarden import AsyncWarden
from oauth_calls import consent, register
from server_process import ServerProcess, free_port


def test_the_scenarios_for_authorization_servers(tmp_path: Path) -> None:
    db, port, callback_port = f"sqlite:///{tmp_path}/s.db", free_port(), free_port()

    async def prepare() -> str:
        async with AsyncWarden.open(db, config={"embedder": "none"}) as warden:
            return await make_key(warden, user="ana")

    key, issuer = asyncio.run(prepare()), f"http://127.0.0.1:{port}"
    environment = {"MEMWARDEN_EMBEDDER": "none", "MEMWARDEN_UPKEEP": "off"}
    with ServerProcess(db, tmp_path, "--port", str(port), "--oauth", issuer, environment=environment):
        client_id = asyncio.run(register_client(issuer, callback_port))
        command: list[str | Path] = [
            NODE, PROGRAMS / "conformance", "authorization", "--url", issuer, "--client-id", client_id,
            "--resource", f"{issuer}/mcp", "--port", str(callback_port), "-o", tmp_path / "results",
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as suite:
            assert suite.stdout is not None
            for line in suite.stdout:
                if line.startswith(f"{issuer}/authorize?"):
                    asyncio.run(allow(line.strip(), key))
            suite.wait(60)
    checks = [check for file in (tmp_path / "results").rglob("checks.json") for check in json.loads(file.read_text())]
    statuses = {check["id"]: check["status"] for check in checks}
    # Client ID metadata documents would make the server fetch addresses that strangers choose.
    assert statuses.pop("authorization-server-metadata-cimd") == "WARNING"
    assert statuses == {"authorization-server-metadata": "SUCCESS", "authorization-code-grant": "SUCCESS"}, checks


async def register_client(issuer: str, port: int) -> str:
    async with httpx2.AsyncClient(base_url=issuer) as http:
        return (await register(http, redirect_uris=[f"http://127.0.0.1:{port}/callback"])).id


async def allow(url: str, key: str) -> None:
    """Allow a request as a person, and go where the redirect leads."""
    parts = httpx2.URL(url)
    async with httpx2.AsyncClient(base_url=f"http://{parts.netloc.decode()}") as browser:
        assert (await browser.post("/ui/login", data={"key": key})).status_code == 303
        request = dict(parts.params)
        answer = await consent(browser, request)
        assert (await browser.get(request["redirect_uri"], params=answer)).status_code == 200
