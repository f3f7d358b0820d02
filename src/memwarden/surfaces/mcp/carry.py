"""The tools by which a person's memory is brought in, taken out and erased for good over MCP."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from memwarden.agent.tools import Parameter, Tool, check_parameters
from memwarden.api.imports import ImportSummary
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.arguments import check_no_agent
from memwarden.errors import InvalidInput, NotFound
from memwarden.recall.answer.frame import clean_line, with_notice
from memwarden.recall.answer.render import framed_words
from memwarden.records import Memory
from memwarden.surfaces.mcp.schemas import OBJECT, TEXT, WHOLE, Schema, answer

# So many characters of a text are shown to the person who decides on it.
MAX_ASKED_CHARACTERS = 300
# So much fits an answer of a tool and the context of a model; more is for the command line.
MAX_EXPORT_CHARACTERS = 100_000
MAX_EXPORTED = 10_000
ANSWERS: dict[str, Schema] = {
    "memory_import": answer({"stored": WHOLE, "known": WHOLE, "ended": WHOLE, "skipped": OBJECT}),
    "memory_export": answer({"content": TEXT}),
    "memory_erase": answer({"erased": OBJECT, "left_to_do": {"type": "array", "items": TEXT}}),
}


def carry_tools(warden: AsyncWarden, me: AsyncScope) -> tuple[Tool, ...]:
    """Return the tools that import, export and erase what is remembered of a person."""
    return import_tool(warden, me), export_tool(warden, me), erase_tool(warden, me)


def import_tool(warden: AsyncWarden, me: AsyncScope) -> Tool:
    """Return the tool that takes a text of another program in, once the person said yes.

    What stands in such a text as the person's words counts as theirs, and a model could have written it.
    """

    async def bring_in(content: str, format: str | None = None, name: str | None = None) -> dict[str, Any]:
        done = await _import(warden, me, content, format, name)
        left_out = {**done.skipped, **done.refused}
        return {
            "success": True, "stored": done.stored, "known": done.known, "ended": done.ended, "skipped": left_out,
        }  # fmt: skip

    return Tool(
        "memory_import",
        "Take in a chat log, notes or an export of another memory, with its dates. Again takes only what changed.",
        (
            Parameter("content", "string", "The text of the file", required=True),
            Parameter("name", "string", "The file's name, such as House.md; names its chat or notes"),
            Parameter("format", "string", "Only where the text does not tell"),
        ),
        "How much was new",
        "write",
        bring_in,
    )


def export_tool(warden: AsyncWarden, me: AsyncScope) -> Tool:
    """Return the tool that writes out what is remembered of the person."""

    async def take_out() -> dict[str, Any]:
        user = find_owner(me)
        memories = await me.find(limit=MAX_EXPORTED, order_by="created_at", descending=False)
        content = with_notice("\n".join(map(_line, memories)))
        if len(memories) == MAX_EXPORTED or len(content) > MAX_EXPORT_CHARACTERS:
            raise InvalidInput(
                f"that is more than a tool may answer with ({MAX_EXPORT_CHARACTERS:,} characters); "
                f"write a file: memwarden export FILE --user {user}"
            )
        return {"success": True, "content": content}

    return Tool(
        "memory_export",
        "Write out everything that is remembered, when the person asks to read it.",
        (),
        "A memory a line",
        "read",
        take_out,
    )


def erase_tool(warden: AsyncWarden, me: AsyncScope) -> Tool:
    """Return the tool that erases a memory or a thread for good, once the person said yes."""

    async def erase(id: str | None = None, thread: str | None = None) -> dict[str, Any]:
        user = find_owner(me)
        check_part(id, thread)
        done = await warden.erase(user=user, confirm=user, tenant=me.who.tenant, memory=id, thread=thread)
        return {"success": True, "erased": dict(asdict(done)["kinds"]), "left_to_do": list(done.left_to_do)}

    return Tool(
        "memory_erase",
        "Erase a memory or a whole conversation for good, with all made of it, because the person asks. To take "
        "it out of answers alone, use memory_forget.",
        (Parameter("id", "string", "Id of a memory"), Parameter("thread", "string", "Or name of a conversation")),
        "What went, and where copies remain",
        "write",
        erase,
    )


async def ask_about_carrying(warden: AsyncWarden, me: AsyncScope, tool: str, arguments: dict[str, Any]) -> str:
    """Return the question to a person before an import or an erasure. Raises NotFound, Denied, InvalidInput."""
    user = find_owner(me)
    if tool == "memory_import":
        given = check_parameters(import_tool(warden, me), arguments)
        content = str(given["content"])
        plan = await _import(warden, me, content, given.get("format"), given.get("name"), dry_run=True)
        begins = clean_line(content[: 2 * MAX_ASKED_CHARACTERS])[:MAX_ASKED_CHARACTERS]
        ended = f", and end {plan.ended:,} that it states no longer" if plan.ended else ""
        return f'Take {plan.stored:,} messages and statements in as the memory of {user}{ended}? It begins: "{begins}"'
    memory, thread = arguments.get("id"), arguments.get("thread")
    check_part(memory, thread)
    erasure = await warden.erase(user=user, tenant=me.who.tenant, memory=memory, thread=thread, dry_run=True)
    count = sum(erasure.kinds.values())
    if not count:
        raise NotFound(f"nothing is remembered of {erasure.subject}")
    return (
        f"Erase {erasure.subject} for good, {count:,} {'memory' if count == 1 else 'memories'}? No undo brings it back."
    )


async def _import(
    warden: AsyncWarden, me: AsyncScope, content: str, form: str | None, name: str | None, *, dry_run: bool = False
) -> ImportSummary:
    user = find_owner(me)
    with tempfile.TemporaryDirectory(prefix="memwarden-import-") as folder:
        file = Path(folder) / check_file_name(name)
        await asyncio.to_thread(file.write_bytes, content.encode("utf-8", "replace"))
        return await warden.import_files(file, user=user, tenant=me.who.tenant, format=form, dry_run=dry_run)


def check_part(memory: Any, thread: Any) -> None:
    """Raise InvalidInput unless one of both is named."""
    if (memory is None) == (thread is None):
        raise InvalidInput("say what to erase: id of a memory, or thread; a person is erased with: memwarden erase")


def check_file_name(name: str | None) -> str:
    """Return the name of a file to write. Raises InvalidInput for a path and for a name that no system takes."""
    if name is None:
        return "pasted"
    if name in (".", "..") or not name.isprintable() or "/" in name or "\\" in name or len(name.encode()) > 200:
        raise InvalidInput("name is that of a file, without a folder, at most 200 bytes")
    return name


def find_owner(me: AsyncScope) -> str:
    """Return whose memory it is. Raises Denied for an agent: this is the person's to decide."""
    check_no_agent(me.who.agent)
    return str(me.who.user)


def _line(memory: Memory) -> str:
    # Words of others stand in their frame: a model reads this.
    said = {"when": memory.said_at.isoformat(), "id": memory.id, "text": framed_words(memory)}
    names = {"by": memory.name or memory.role, "thread": memory.thread_id}
    return json.dumps({**said, **{name: value for name, value in names.items() if value}}, ensure_ascii=False)
