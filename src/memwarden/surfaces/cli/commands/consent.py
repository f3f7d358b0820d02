"""``memwarden consent``: proposed changes of the user context, and decisions on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.text import Text

from memwarden.errors import InvalidInput
from memwarden.records import Consent, UserContext
from memwarden.remember.resolve.user_context import GOALS_ADD, GOALS_REMOVE, VALUES
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import clean, print_json, printer

app = typer.Typer(
    help="Decide what may change in how you are called and spoken to.", no_args_is_help=True, rich_markup_mode=None
)
Id = Annotated[str, typer.Argument(metavar="ID", help="The id of a proposal, as consent list shows it.")]


@app.command("list")
@command
async def list_(
    options: Options,
    state: Annotated[
        str, typer.Option(help="pending, approved, declined, expired, applied, replaced or all.")
    ] = "pending",
) -> None:
    """List proposed changes, newest first; by default the undecided ones.

    \b
    Examples:
      memwarden consent list
      memwarden consent list --state all --json
    """
    async with options.open(existing=True) as warden:
        found = await options.scope(warden).consent.proposals(None if state == "all" else state)
    if options.as_json:
        print_json(found)
    else:
        _list(found)


@app.command("approve")
@command
async def approve(options: Options, consent_id: Id) -> None:
    """Approve a proposed change.

    \b
    Example:
      memwarden consent approve user-context.019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
    """
    await _decide(options, consent_id, True)


@app.command("decline")
@command
async def decline(options: Options, consent_id: Id) -> None:
    """Decline a proposed change.

    \b
    Example:
      memwarden consent decline user-context.019e2f6e-7c1d-7f03-9a62-1f2d3c4b5a69
    """
    await _decide(options, consent_id, False)


@app.command("propose")
@command
async def propose(
    options: Options,
    changes: Annotated[
        list[str], typer.Argument(metavar="FIELD=VALUE...", help=f"{', '.join(VALUES)}, {GOALS_ADD}, {GOALS_REMOVE}.")
    ],
) -> None:
    """Propose changes for a decision; an empty value empties a field.

    \b
    Examples:
      memwarden consent propose city=Lisbon "goals_add=run a marathon"
      memwarden consent propose tone=
    """
    patch = _patch(changes)
    async with options.open() as warden:
        result = await options.scope(warden).consent.propose(patch)
    if options.as_json:
        print_json(result)
        return
    for item in result.results:
        printer().print(clean(f"{item.outcome}  {item.reason}" + (f"\n  {item.id}" if item.id else "")))


@app.command("context")
@command
async def context(options: Options) -> None:
    """Show the user context: names, tone and aims.

    \b
    Example:
      memwarden consent context
    """
    async with options.open(existing=True) as warden:
        known = await options.scope(warden).consent.user_context()
    if options.as_json:
        print_json(known)
    else:
        _show(known)


async def _decide(options: Options, consent_id: str, approved: bool) -> None:
    async with options.open(existing=True) as warden:
        decided = await options.scope(warden).consent.decide(consent_id, approved, way="cli")
    if options.as_json:
        print_json(decided)
    else:
        printer().print(clean(f"{decided.state.capitalize()}: {change(decided)}."))


def change(consent: Consent) -> str:
    """Describe a proposed change in words."""
    if consent.field == GOALS_ADD:
        return f"a new goal, {consent.value}"
    if consent.field == GOALS_REMOVE:
        return f"no longer a goal, {consent.value}"
    was = f", now {consent.replaces}" if consent.replaces else ""
    return f"{consent.field} = {'nothing' if consent.value is None else consent.value}{was}"


def _list(found: Sequence[Consent]) -> None:
    console = printer()
    if not found:
        console.print("Nothing waits for a decision, or none is in that state.")
    for item in found:
        until = f"until {item.expires_at:%Y-%m-%d %H:%M} UTC" if item.expires_at and item.decided_at is None else ""
        by = f"by {item.decided_by} ({item.way})" if item.decided_by else ""
        console.print(Text(clean(f"{item.id}  {item.state} {until or by}".rstrip()), style="dim"), soft_wrap=True)
        console.print(clean(f"  {change(item)}"))


def _show(known: UserContext) -> None:
    console = printer()
    for name in VALUES:
        console.print(clean(f"{name:<16} {getattr(known, name) or '-'}"))
    console.print(clean(f"{'goals':<16} {'; '.join(known.goals) or '-'}"))


def _patch(changes: Sequence[str]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for change in changes:
        field, sign, value = change.partition("=")
        if not sign:
            raise InvalidInput(f"a change is FIELD=VALUE, such as city=Lisbon, not {change!r:.80}")
        if field in (GOALS_ADD, GOALS_REMOVE):
            patch[field] = [*patch.get(field, []), value]
        elif field in patch:
            raise InvalidInput(f"{field} is given twice")
        else:
            patch[field] = value or None
    return patch
