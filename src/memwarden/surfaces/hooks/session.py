"""Answers the events of a coding session: what the project knows goes in, what is worth keeping is kept."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from memwarden.api.warden import AsyncWarden
from memwarden.errors import InvalidInput
from memwarden.records import Kind, Trust
from memwarden.remember.ingest.screening import screen
from memwarden.security.injection.detector import LEFT_OUT
from memwarden.surfaces.hooks.reading import MAX_COMMAND, CommandRun, PromptNote, read_command, read_prompt
from memwarden.text.language import repair_json
from memwarden.tiers import items
from memwarden.tiers.backend import ContextItem
from memwarden.tiers.budget import ContextPackage, ContextRequest, Task

START_TOKENS, PROMPT_TOKENS = 800, 400
# Of a prompt into which a file was pasted, the beginning says what is wanted.
MAX_SEARCHED = 2_000
# Events whose answer is put before the model.
START, PROMPT = "SessionStart", "UserPromptSubmit"
AFTER_TOOL: Final = ("PostToolUse", "PostToolUseFailure")
_GEMINI_EVENTS: Final = {"BeforeAgent": PROMPT, "AfterTool": "PostToolUse"}
# Field of an event that was read: the name that the agent gave it.
_OWN_NAME: Final = "own_event_name"
WORKED = " Later this worked: "
# To call the same command a remedy would say nothing: something else was mended.
PASSED = " Later the same command passed."
_SIGNS: Final = re.compile(r"[^A-Za-z0-9._-]+")


def read_event(text: str) -> Mapping[str, Any]:
    """Return the event that an agent wrote to stdin. Raises InvalidInput."""
    try:
        event = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise InvalidInput("the event on stdin is no JSON; this command is started by a coding agent") from None
    if not isinstance(event, dict) or not isinstance(event.get("hook_event_name"), str):
        raise InvalidInput("the event on stdin has no hook_event_name; this command is started by a coding agent")
    event = cast(dict[str, Any], repair_json(event))
    # Gemini CLI has other names for the same events, and reads its own name in the answer.
    return {**event, "hook_event_name": _GEMINI_EVENTS.get(event["hook_event_name"], event["hook_event_name"]),
            _OWN_NAME: event["hook_event_name"]}  # fmt: skip


def is_of_interest(event: Mapping[str, Any]) -> bool:
    """Whether an event has anything to load or to keep; most events of a session have not."""
    name = event["hook_event_name"]
    return name == START or (name == PROMPT and bool(_prompt(event))) or _command(event) is not None


def name_project(event: Mapping[str, Any]) -> str:
    """Return the project of an event: the name of its repository's folder, and a mark of its path.

    Two repositories of a name are two projects. A linked worktree (``git worktree``) is a part of its repository. A
    folder that was moved is another project, unless it is named.
    """
    folder = Path(str(event.get("cwd") or ".")).resolve()
    root = next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)
    root = _repository_of_worktree(root / ".git") or root
    mark = hashlib.sha256(str(root).encode()).hexdigest()[:8]
    return f"{_SIGNS.sub('-', root.name)[:60] or 'root'}-{mark}"


def _repository_of_worktree(git: Path) -> Path | None:
    """Return the folder of the repository that a worktree's file ``.git`` is linked to; None for all else."""
    try:
        _, mark, link = git.read_text("utf-8").partition("gitdir:")
        own = (git.parent / link.strip()).resolve()
        common = (own / (own / "commondir").read_text("utf-8").strip()).resolve()
    except (OSError, UnicodeDecodeError):  # a folder, or a submodule, which is a repository of its own
        return None
    return common.parent if mark and common.name == ".git" else None


class CodingSession:
    """A project's memory as the events of an agent's session read and write it."""

    def __init__(self, warden: AsyncWarden, project: str, tenant: str = "default") -> None:
        self._project = project
        self._store = warden.tiers.project(project, tenant=tenant)
        self._backend = warden.backend(f"project/{project}", tenant=tenant)
        self._assembler = warden.tiers.assembler(tenant=tenant)

    async def answer(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the agent's program is told about an event; empty for nothing."""
        name, session = event["hook_event_name"], str(event.get("session_id") or "session")
        if name == START:
            return _context(event, (await self._build(session, START_TOKENS, None)).text)
        prompt = _prompt(event)
        if name == PROMPT and prompt:
            # What the project knew before, so that a prompt is not told its own words.
            known = await self._load_for(prompt, session)
            for note in read_prompt(prompt):
                await self._keep_note(note)
            return _context(event, known)
        run = _command(event)
        if run is not None:
            await (self._record_success(run, session) if run.error is None else self._keep_failure(run, session))
        return {}

    async def _load_for(self, prompt: str, session: str) -> str:
        """Return what bears on a prompt; nothing, without a model, when the start of the session was told all."""
        if not (await self._build(session, START_TOKENS, None)).left_out:
            return ""
        return (await self._build(session, PROMPT_TOKENS, prompt[:MAX_SEARCHED])).text

    async def _build(self, session: str, budget: int, question: str | None) -> ContextPackage:
        task = Task(session, {"project_id": self._project})
        shares = {"task": 0.0, "project": 1.0, "global": 0.0}
        request = ContextRequest(budget_tokens=budget, query=question, shares=shares)
        return await self._assembler.build_context(task, request)

    async def _keep_note(self, note: PromptNote) -> None:
        made = (
            items.decision(self._project, note.text, ())
            if note.kind == Kind.DECISION
            else items.convention(self._project, note.text, "project")
        )
        await self._keep(made, " ".join(note.text.lower().split()))

    async def _keep_failure(self, run: CommandRun, session: str) -> None:
        command, said = _fit(run.command[:MAX_COMMAND]), _fit(run.error or "")
        signature = {"code": run.program, "message": said, "details": {"command": command, "session": session}}
        made = items.failure(self._project, run.program, signature, f"`{command}` failed: {said}")
        # The words of a tool are nobody's: they are screened, and quoted where they are shown.
        await self._keep(made, run.command, source="tool:shell")

    async def _record_success(self, run: CommandRun, session: str) -> None:
        """Add to the failures of this program in this session what worked at last."""
        for item in await self._backend.query({"kind": str(Kind.FAILURE), "tags": [run.program]}):
            payload = dict(item.payload)
            lesson, of = str(payload.get("lesson")), payload.get("failure", {}).get("details", {}).get("session")
            if of == session and WORKED not in lesson and PASSED not in lesson:
                worked = _fit(run.command[:MAX_COMMAND])
                same = worked == payload["failure"]["details"].get("command")
                payload["lesson"] = lesson + (PASSED if same else f"{WORKED}`{worked}`")
                await self._backend.add(_replaced(item, payload=payload))

    async def _keep(self, item: ContextItem, same: str, **changes: Any) -> None:
        """Keep an item, in place of the same that was kept before."""
        identity = f"{item.kind}-{hashlib.sha256(same.encode(errors='replace')).hexdigest()[:24]}"
        await self._backend.add(_replaced(item, context_item_id=identity, **changes))
        await self._store.make_room(new=identity)


def _fit(said: str) -> str:
    """Return a tool's words on a line, or a mark where they read like orders.

    They are judged by themselves and as they stand: between other words, or with other blanks, they would read less so.
    """
    line = " / ".join(" ".join(part.split()) for part in said.splitlines())
    return LEFT_OUT if screen(Trust.EXTERNAL, said, line).kinds else line


def _replaced(item: ContextItem, **changes: Any) -> ContextItem:
    fields = {name: getattr(item, name) for name in ContextItem.__dataclass_fields__}
    return ContextItem(**{**fields, **changes})


def _prompt(event: Mapping[str, Any]) -> str:
    prompt = event.get("prompt")
    return prompt.strip() if isinstance(prompt, str) else ""


def _command(event: Mapping[str, Any]) -> CommandRun | None:
    return read_command(event) if event["hook_event_name"] in AFTER_TOOL else None


def _context(event: Mapping[str, Any], text: str) -> dict[str, Any]:
    name = event.get(_OWN_NAME, event["hook_event_name"])
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}} if text else {}


def agent_settings(command: str) -> dict[str, Any]:
    """Return the block of a coding agent's settings that starts the command at its events."""
    hook = [{"type": "command", "command": command, "timeout": 20}]
    shell = {"matcher": "Bash", "hooks": hook}
    return {"hooks": {START: [{"hooks": hook}], PROMPT: [{"hooks": hook}], **{name: [shell] for name in AFTER_TOOL}}}


def gemini_settings(command: str) -> dict[str, Any]:
    """Return the block of Gemini CLI's settings that starts the command at its events."""
    hook = [{"type": "command", "name": "memwarden", "command": command, "timeout": 20_000}]
    shell = {"matcher": "run_shell_command", "hooks": hook}
    return {"hooks": {START: [{"hooks": hook}], "BeforeAgent": [{"hooks": hook}], "AfterTool": [shell]}}
