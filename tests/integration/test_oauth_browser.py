"""The page for consent in a browser: the way from another site, the login, the policy of the form, accessibility."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from http_calls import make_key
from memwarden import AsyncWarden
from oauth_calls import Assistant, read_answer
from server_process import ServerProcess, free_port
from web_site import Site, browser, find_violations, tab


class AssistantSite(BaseHTTPRequestHandler):
    """The site of a hosted assistant: a page with a link to the server, and the callback."""

    link = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<!doctype html><title>a</title><a href="{self.link}">Connect</a>'.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def assistant_site() -> Iterator[str]:
    # Another name of this machine, so that it is another site to a browser.
    with ThreadingHTTPServer(("127.0.0.1", 0), AssistantSite) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://localhost:{served.server_port}"
        served.shutdown()


def test_a_person_comes_from_another_site_logs_in_once_and_goes_back(assistant_site: str, tmp_path: Path) -> None:
    db, port = f"sqlite:///{tmp_path}/s.db", free_port()

    async def prepare() -> str:
        async with AsyncWarden.open(db, config={"embedder": "none"}) as warden:
            return await make_key(warden, user="ana")

    key = asyncio.run(prepare())
    environment = {"MEMWARDEN_EMBEDDER": "none", "MEMWARDEN_UPKEEP": "off"}
    options = ("--port", str(port), "--oauth", f"http://127.0.0.1:{port}")
    with ServerProcess(db, tmp_path, *options, environment=environment) as server, server.client() as http:
        callback = f"{assistant_site}/callback"
        made = http.post("/register", json={"client_name": "Assistant", "redirect_uris": [callback]}).json()
        client = Assistant(httpx2.AsyncClient(), made["client_id"], callback=callback)
        AssistantSite.link = (
            f"{server.url}/authorize?{urlencode(client.request(resource=f'{server.url}/mcp'))}".replace("&", "&amp;")
        )
        with browser() as started, tab(started, Site(server.url, {}, {})) as page:
            page.goto(assistant_site)
            page.get_by_role("link", name="Connect").click()
            page.get_by_label("Key").fill(key)
            page.get_by_role("button", name="Log in").click()
            page.get_by_role("heading", name="Connect an assistant?").wait_for()
            assert find_violations(page) == []
            page.get_by_role("button", name="Refuse").click()
            page.wait_for_url(f"{callback}**")
            assert read_answer(page.url)["error"] == "access_denied"
            # The session goes on, although the browser sends its cookie along from no other site.
            page.get_by_role("link", name="Connect").click()
            page.get_by_role("button", name="Allow").click()
            page.wait_for_url(f"{callback}**")
            assert read_answer(page.url)["code"].startswith("mwc_")
