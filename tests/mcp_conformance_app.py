"""Our server with the fixtures of the conformance suite beside its own tools: run as a program, it prints its URL."""

from __future__ import annotations

import sys

import uvicorn

from mcp_fixtures import add_fixtures
from memwarden import AsyncWarden
from memwarden.surfaces.http.app import ServerOptions, create_app
from memwarden.surfaces.http.server import AnnouncedServer, ServerPlan, listen, url_of


def announce(url: str) -> None:
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()


def main() -> None:
    """Serve at a free port of this machine until the process is ended."""
    plan = ServerPlan(port=0)
    socket = listen(plan)
    warden = AsyncWarden.open("memory://", {"embedder": "wordllama"})
    app = create_app(warden, ServerOptions(open_door=True, rate=None, mcp="full"), extend_mcp=add_fixtures)
    config = uvicorn.Config(app, log_level="warning", lifespan="on")
    url = url_of(plan, socket)
    AnnouncedServer(config, lambda: announce(url)).run(sockets=[socket])


if __name__ == "__main__":
    main()
