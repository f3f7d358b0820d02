"""``memwarden erase`` and ``memwarden verify``: removes a person for good, and proves it."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from memwarden.errors import Conflict, InvalidInput, NotFound
from memwarden.records import MemoryState
from memwarden.stores.transfer.backup import explain_os_errors
from memwarden.stores.transfer.erasure import ErasureReceipt, read_receipt
from memwarden.surfaces.cli.options import Options, command, find_id
from memwarden.surfaces.cli.output import clean, print_json, printer, progress

FAILED = 1


@command
async def erase(
    options: Options,
    confirm: Annotated[
        str | None, typer.Option(metavar="USER", help="The user's name: without it nothing is erased.")
    ] = None,
    thread: Annotated[str | None, typer.Option(help="Erase a thread alone, with what was made of it.")] = None,
    memory: Annotated[
        str | None, typer.Option(metavar="ID", help="Erase a memory alone, with what rests on it.")
    ] = None,
    receipt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the receipt is written. [default: erased.json]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would be erased, and erase nothing.")] = False,
) -> None:
    """Remove a user, a thread or a memory for good, with versions, sessions, checkpoints and events.

    Nothing brings it back. The file is rewritten, so that its free pages hold nothing. The receipt counts what went,
    and says what is left to you: backups, replicas, logs. After a kill the same command goes on where it was.

    \b
    Examples:
      memwarden erase --user ana --dry-run
      memwarden erase --user ana --confirm ana --receipt ana-erased.json
      memwarden erase --user ana --thread 2026-05-08 --confirm ana
      memwarden verify --erased ana-erased.json
    """
    user = options.user
    if user is None:
        raise InvalidInput("say who is erased: --user NAME")
    if options.agent is not None:
        raise InvalidInput("a whole user is erased, whatever agents may see; leave out --agent")
    file = receipt or Path("erased.json")
    async with options.open(existing=True) as warden:
        if memory is not None:
            memory = await find_id(warden, options.scope(warden), memory, *MemoryState)
        erase_it = partial(warden.erase, user=user, tenant=options.tenant, thread=thread, memory=memory)
        plan = await erase_it(dry_run=True)
        if not any(plan.counts.values()) and not file.exists():
            raise NotFound(f"nothing of {plan.subject} is in {plan.store}; memwarden users lists who is")
        if dry_run or confirm != user:
            done = await erase_it(confirm=confirm, dry_run=dry_run, begun=plan)
        else:
            begun = _begin(file, plan)
            with progress("Erasing", 1) as tick:
                done = await erase_it(confirm=confirm, begun=begun)
                tick(1)
            _write(file, done)
    if options.as_json:
        print_json(done)
    else:
        _print(done, file, options.named_store)


@command
async def verify(
    options: Options,
    erased: Annotated[Path, typer.Option("--erased", metavar="RECEIPT", help="The receipt of an erasure.")],
) -> int:
    """Prove that what a receipt says was erased is not there. Exit code 1 when anything of it is.

    Every table is asked, and the bytes of the store's files are looked through.

    \b
    Example:
      memwarden verify --erased ana-erased.json
    """
    said = _read(erased)
    async with options.open(existing=True) as warden:
        found = await warden.verify_erased(said)
    if options.as_json:
        print_json({"receipt": str(erased), "namespace": said.namespace, "absent": not found, "found": found})
    else:
        console = printer()
        for line in found:
            console.print(clean(f"Not erased: {line}."))
        if not found:
            console.print(clean(f"Nothing of {said.subject} is in {said.store}."))
    return FAILED if found else 0


def _begin(file: Path, plan: ErasureReceipt) -> ErasureReceipt:
    """Write the plan, or return that of a call that was broken off. Raises Conflict for another receipt."""
    if not file.exists():
        _write(file, plan)
        return plan
    begun = _read(file)
    if begun.finished_at is not None or _about(begun) != _about(plan):
        raise Conflict(f"{file} is there already and is the receipt of another erasure; choose another name")
    return begun


def _about(receipt: ErasureReceipt) -> tuple[object, ...]:
    return receipt.namespace, receipt.store, receipt.thread, receipt.memory


def _read(file: Path) -> ErasureReceipt:
    if not file.exists():
        raise NotFound(f"there is no file {file}")
    with explain_os_errors(file):
        return read_receipt(file.read_text("utf-8", errors="replace"))


def _write(file: Path, receipt: ErasureReceipt) -> None:
    """Write a receipt durably; a kill leaves the earlier or the new file whole."""
    new = file.with_name(f"{file.name}.new")
    with explain_os_errors(file):
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:  # noqa: PTH123
            opened.write(receipt.to_json())
            opened.flush()
            os.fsync(opened.fileno())
        new.replace(file)


def _print(receipt: ErasureReceipt, file: Path, store: str) -> None:
    console = printer()
    done = receipt.finished_at is not None
    console.print(clean(f"{'Erased' if done else 'Would erase'} {receipt.subject} from {receipt.store}:"))
    for name, count in (*receipt.kinds.items(), *receipt.counts.items()):
        if count:
            console.print(clean(f"  {count:>9,} {name.replace('_', ' ')}"))
    if done:
        console.print("Left to do:")
        for line in receipt.left_to_do:
            console.print(clean(f"  {line}"))
        proof = f"memwarden verify --erased {shlex.quote(str(file))}{store}"
        console.print(clean(f"The receipt is {file}; {proof} proves it."), soft_wrap=True)
