"""``memwarden serve``: the HTTP server. ``memwarden key``: who may use it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from memwarden import AsyncWarden, clock
from memwarden.checks import word
from memwarden.errors import InvalidInput, missing_extra
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer
from memwarden.surfaces.http.keys import DEFAULT_OPERATIONS, AccessKey, KeyRing

HELP = "Keys of the server: make, list and revoke them."
app = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)
AGES = {"h": 3_600, "d": 86_400}
LEVELS = ("debug", "info", "warning", "error")


@command
async def serve(
    options: Options,
    host: Annotated[str, typer.Option(help="The address to listen on. Another than this machine's takes a key.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 chooses a free port.")] = 8765,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that serve the same store.")] = 1,
    rate: Annotated[str, typer.Option(help="The most calls of a key, such as 600/minute; off for no limit.")] = (
        "6000/minute"
    ),
    max_body: Annotated[int, typer.Option(min=1, help="The most bytes of a request.")] = 8_388_608,
    allow_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A name in the header Host that is served.")
    ] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A page that may call from a browser.")
    ] = None,
    root_path: Annotated[str, typer.Option(metavar="PATH", help="Where a reverse proxy mounts the server.")] = "",
    forwarded_from: Annotated[
        str, typer.Option(metavar="ADDRESSES", help="Reverse proxies whose X-Forwarded headers are believed.")
    ] = "",
    mcp: Annotated[
        str, typer.Option(metavar="PROFILE", help="MCP at /mcp (extra mcp): default, full, graph or off.")
    ] = "default",
    oauth: Annotated[
        str,
        typer.Option(
            metavar="URL", help="Public URL under which hosted assistants connect to /mcp by OAuth (extra mcp)."
        ),
    ] = "",
    upstream: Annotated[
        str | None, typer.Option(metavar="URL", help="Where conversations with models are passed on to, with memory.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    openapi: Annotated[bool, typer.Option("--openapi", help="Print the OpenAPI document and end.")] = False,
) -> None:
    """Serve the store over HTTP until Ctrl-C. Without a key it serves this machine alone.

    \b
    Examples:
      memwarden serve
      memwarden serve --port 9000 --rate 600/minute
      memwarden serve --upstream https://api.openai.com/v1
      memwarden key create --name team && memwarden serve --host 0.0.0.0 --allow-host memory.example.org
      memwarden serve --forwarded-from 127.0.0.1 --oauth https://memory.example.org
    """
    word(LEVELS).check(log_level, "--log-level")
    word(("default", "full", "graph", "off")).check(mcp, "--mcp")
    try:
        from memwarden.surfaces.http import server
        from memwarden.surfaces.http.app import ServerOptions, create_app, describe, find_addresses
    except ImportError:
        raise missing_extra("the server", "server") from None
    if openapi:
        print_json(describe(create_app(AsyncWarden.open("memory://"))))
        return
    chosen = ServerOptions(
        hosts=(*(allow_host or ()), host),
        origins=tuple(cors_origin or ()),
        # A proxy on this machine brings callers of other machines.
        open_door=server.is_loopback(host) and not (forwarded_from or allow_host or root_path or oauth),
        rate=None if rate == "off" else rate,
        max_body=max_body,
        root_path=root_path,
        mcp="" if mcp == "off" else mcp,
        oauth=oauth,
    )
    find_addresses(chosen)  # raises before a store is opened
    plan = server.ServerPlan(
        host, port, workers, options.db, options.embedder, upstream, log_level, forwarded_from, chosen
    )
    options.announce_new_store()
    has_keys = await server.check_keys(plan)

    serving = False

    def announce(url: str) -> None:
        nonlocal serving
        serving = True
        if options.as_json:
            print_json({"url": url, "keys": has_keys})
            sys.stdout.flush()
        else:
            needs = "a key" if has_keys else "no key yet, and this machine alone"
            sys.stderr.write(f"memwarden serves at {url} ({needs}); Ctrl-C ends it\n")
            sys.stderr.write(f"The page for people is at {url}/ui/\n")

    try:
        await server.serve(plan, announce)
    except KeyboardInterrupt:
        if not serving:
            raise
        # Ctrl-C is how a server ends, and no failure that make would report.


@app.command("create")
@command
async def create(
    options: Options,
    operation: Annotated[
        list[str] | None,
        typer.Option(
            help="read, write, decide (consent, review, erasing) or operate (server; jobs, which decide runs). "
            "[default: read, write]"
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="A note that the list shows.")] = None,
    expires_in: Annotated[str | None, typer.Option(metavar="AGE", help="Such as 12h or 90d. Default: never.")] = None,
) -> None:
    """Make a key, and print it this once. --user and --agent bind it; without them it may act for any of the tenant.

    \b
    Examples:
      memwarden key create --user ana --name "Ana's phone" --expires-in 90d
      memwarden key create --agent planner --operation read
    """
    chosen: Sequence[str] = operation or DEFAULT_OPERATIONS
    async with options.open() as warden:
        made = await KeyRing(warden.store).create(
            tenant=options.tenant, user=options.user, agent=options.agent, operations=chosen, name=name,
            lifetime=None if expires_in is None else _read_age(expires_in),
        )  # fmt: skip
    if options.as_json:
        print_json({**_shown(made.key), "key": made.text})
    else:
        sys.stderr.write("This key is shown this once; the store keeps a hash of it.\n")
        sys.stdout.write(f"{made.text}\n")


@app.command("list")
@command
async def list_(options: Options) -> None:
    """List keys, without their secrets.

    \b
    Examples:
      memwarden key list
      memwarden key list --json
    """
    async with options.open(existing=True) as warden:
        keys = await KeyRing(warden.store).find()
    if options.as_json:
        print_json([_shown(key) for key in keys])
    else:
        _list(keys)


@app.command("revoke")
@command
async def revoke(options: Options, key_id: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    """End a key at once, in every process.

    \b
    Examples:
      memwarden key revoke 4f1c2a9be0d37a55
    """
    async with options.open(existing=True) as warden:
        key = await KeyRing(warden.store).revoke(key_id)
    if options.as_json:
        print_json(_shown(key))
    else:
        printer().print(f"revoked {key.id}")


def _shown(key: AccessKey) -> dict[str, Any]:
    grant = key.grant
    return {
        "id": key.id, "name": key.name, "tenant": grant.tenant, "user": grant.user, "agent": grant.agent,
        "operations": grant.operations, "created_at": key.created_at, "expires_at": key.expires_at,
        "revoked_at": key.revoked_at, "alive": key.is_alive(clock.now()),
    }  # fmt: skip


def _list(keys: Sequence[AccessKey]) -> None:
    console = printer()
    if not keys:
        console.print("no keys; memwarden key create makes some")
        return
    table = Table.grid(padding=(0, 2))
    for key in keys:
        grant = key.grant
        whose = f"{grant.tenant}/{grant.user or 'any user'}/{grant.agent or 'any agent'}"
        ends = f"until {key.expires_at:%d %b %Y}" if key.expires_at else ""
        state = ends if key.is_alive(clock.now()) else "revoked" if key.revoked_at else "expired"
        cells = (key.id, whose, ", ".join(grant.operations), key.name or "", state)
        table.add_row(*(Text(clean(cell)) for cell in cells))
    console.print(table)


def _read_age(text: str) -> timedelta:
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in AGES or len(number) > 5:
        raise InvalidInput(f"--expires-in is a number of hours or days, such as 12h or 90d, not {text!r:.80}")
    return timedelta(seconds=int(number) * AGES[unit])
