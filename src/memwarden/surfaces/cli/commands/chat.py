"""``memwarden chat``: a conversation that shows each prompt's memories and each new memory."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.text import Text

from memwarden import Warden
from memwarden import settings as config
from memwarden.api.blocking import BoundScope
from memwarden.conversation.chat import Action, Reply
from memwarden.conversation.settings import ChatSettings
from memwarden.conversation.upstreams import Upstream, openai_chat
from memwarden.errors import InvalidInput, NotFound, missing_extra
from memwarden.records import ContextBlock, Outcome, WriteResult
from memwarden.settings import DEFAULT_BLOCK_TOKENS, DEFAULT_THRESHOLD
from memwarden.surfaces.cli.options import Options, command
from memwarden.surfaces.cli.output import Printer, clean, printer, to_json_value

COMMANDS = {"/quit": Action.BREAK, "/save": Action.SAVE_AND_CONTINUE, "/help": Action.CONTINUE}
HELP = "/quit or Ctrl-D ends; /save looks through the conversation (--extraction on_save); Ctrl-C stops an answer."
# Between two words of a scripted model, so that there is something to watch and to stop.
PACE_SECONDS = 0.02
SHOWN_OUTCOMES = (Outcome.CREATED, Outcome.MERGED, Outcome.SUPERSEDED)
FAILED = 1


@command
async def chat(
    options: Options,
    url: Annotated[
        str | None, typer.Option(help="An OpenAI-compatible endpoint. [default: setting chat_url]", show_default=False)
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Its model. [default: setting chat_model]", show_default=False)
    ] = None,
    script: Annotated[
        Path | None, typer.Option(metavar="FILE", help="No model: answer with the lines of this file, in turn.")
    ] = None,
    thread: Annotated[str, typer.Option(help="The conversation to go on with.")] = "chat",
    system: Annotated[str | None, typer.Option(metavar="TEXT", help="The system prompt.")] = None,
    mode: Annotated[
        str, typer.Option(help="system_append, context_message, user_prefix or cache_stable.")
    ] = "system_append",
    extraction: Annotated[str, typer.Option(help="every_turn, periodic, on_save or llm_triggered.")] = "every_turn",
    budget_tokens: Annotated[int, typer.Option(help="The most tokens of memories in a prompt.")] = DEFAULT_BLOCK_TOKENS,
    threshold: Annotated[float, typer.Option(help="The least chance of an answer, 0..1.")] = DEFAULT_THRESHOLD,
) -> int:
    """Talk to a model that remembers; shows each prompt's memories and what was kept.

    The model is any OpenAI-compatible endpoint; its key is read from OPENAI_API_KEY. With --script no model and no key
    are needed. Lines are read from the terminal or from a pipe. Ctrl-C stops an answer; what was shown of it is stored.
    With --json each exchange is a line of JSON.

    Typed alone on a line: /quit (or Ctrl-D) ends; /save looks through the conversation and keeps what is found; /help
    names them. With --extraction on_save nothing but the words is kept until you type /save.

    \b
    Examples:
      memwarden chat --model gpt-4o-mini
      memwarden chat --url http://localhost:11434/v1 --model llama3 --user ana
      printf 'All right.\\nI see.\\n' > lines.txt; memwarden chat --script lines.txt
    """
    settings = ChatSettings(
        use_memory=True,
        memory_injection_mode=mode,
        memory_extraction_mode=extraction,
        max_memory_tokens=budget_tokens,
        memory_search_threshold=threshold,
    )
    stored = options.settings
    upstream = _script_model(script) if script else _endpoint(url or stored.chat_url, model or stored.chat_model)
    # Blocking, on a loop of its own: what waits for the keyboard and what Ctrl-C stops is this thread.
    url_of_store = stored.db or config.default_db()
    with Warden.open(url_of_store, stored, follow_store=options.embedder is None) as warden:
        me = warden.scope(user=options.user or "default", agent=options.agent, tenant=options.tenant, thread=thread)
        talking = me.chat(upstream, settings, check_action=COMMANDS.get, system=system)
        show = _JsonLines() if options.as_json else _Terminal(me)
        failed = 0
        for line in _lines(prompt=not options.as_json):
            try:
                # A line that failed does not end the chat, but the exit code tells a script of it.
                failed = max(failed, _exchange(talking.stream(line), line, show))
            except _EndOfChat:
                break
            except KeyboardInterrupt:
                show.show_stop()
                # Ctrl-C at a prompt stops an answer; a script that is interrupted has to end.
                if not sys.stdin.isatty():
                    raise
        return failed


class _EndOfChat(Exception):
    """Raised when the user ends the conversation."""


def _exchange(pieces: Any, line: str, show: _Terminal | _JsonLines) -> int:
    """Send a line and show the reply. Returns an exit code."""
    try:
        with pieces:
            for number, piece in enumerate(pieces):
                # The block is known with the first piece: before it the model has not been asked.
                if not number:
                    show.show_block(pieces.block)
                show.piece(piece)
    except Exception as error:  # of a line that cannot be kept, or the endpoint's, in a class of its client's
        show.show_failure(error)
        return FAILED
    show.show_reply(line, pieces.reply)
    if pieces.reply.action == Action.BREAK:
        raise _EndOfChat
    return 0


class _Terminal:
    """Prints a conversation on a terminal."""

    def __init__(self, me: BoundScope) -> None:
        self._me = me
        self._console: Printer = printer()

    def show_block(self, block: ContextBlock) -> None:
        if block:
            self._dim(f"{len(block.items)} memories in the prompt, {block.tokens} tokens:")
            for item in block.items:
                self._dim(f"  {item.score:.2f}  {item.text}")

    def piece(self, words: str) -> None:
        sys.stdout.write(clean(words))
        sys.stdout.flush()

    def show_reply(self, line: str, reply: Reply) -> None:
        if reply.action is not None:
            if reply.action == Action.CONTINUE:
                self._dim(HELP)
        elif reply.text is None:
            self._dim("(no answer)")
        else:
            self.piece("\n")
        for failure in reply.failures:
            self._dim(f"went on without memory: {failure}")
        if reply.kept is not None:
            self._show_kept(reply.kept)

    def show_stop(self) -> None:
        self.piece("\n")
        self._dim("(stopped; what was shown is stored)")

    def show_failure(self, error: Exception) -> None:
        self.piece("\n")
        printer(sys.stderr).print(clean(f"memwarden: {type(error).__name__}: {_why(error)}"))

    def _show_kept(self, kept: WriteResult) -> None:
        for result in kept.results:
            if result.id is None or result.outcome not in SHOWN_OUTCOMES:
                continue
            with suppress(NotFound):  # what waits to be heard again is no memory yet
                memory = self._me.get(result.id)
                if "card" not in memory.tags:
                    self._dim(f"kept ({result.outcome}): {memory.text}")

    def _dim(self, text: str) -> None:
        self._console.print(Text(clean(text), style="dim"))


class _JsonLines:
    """Prints a conversation as JSON Lines."""

    def __init__(self) -> None:
        self._block: ContextBlock | None = None

    def show_block(self, block: ContextBlock) -> None:
        self._block = block

    def piece(self, words: str) -> None:
        """Ignore a piece: an exchange is printed whole."""

    def show_reply(self, line: str, reply: Reply) -> None:
        told = {"message": line, "answer": reply.text, "action": reply.action}
        block = {"text": reply.block.text, "tokens": reply.block.tokens, "items": to_json_value(reply.block.items)}
        kept = None if reply.kept is None else to_json_value(reply.kept.results)
        failures = [_error_json(failure) for failure in reply.failures]
        self._tell(told | {"block": block, "stored": to_json_value(reply.stored), "kept": kept, "failures": failures})

    def show_stop(self) -> None:
        self._tell({"stopped": True})

    def show_failure(self, error: Exception) -> None:
        self._tell({"error": _error_json(error) | {"message": _why(error)}})

    def _tell(self, told: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _error_json(error: Exception) -> dict[str, str]:
    return {"type": type(error).__name__, "message": str(error)}


def _why(error: Exception) -> str:
    """Describe a failure; for an unreachable endpoint with its address, without credentials."""
    # Compared by name: importing the client for its classes would make it a dependency.
    if type(error).__name__ not in ("APIConnectionError", "APITimeoutError"):  # of the client, which is an extra
        return str(error)
    url = urlsplit(str(getattr(getattr(error, "request", None), "url", "")))
    where = f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
    return f"{error} Asked at {where}; is it running, and is --url right?"


def _lines(*, prompt: bool) -> Iterator[str]:
    """Yield typed or piped lines, without the empty ones."""
    if sys.stdin.isatty() and prompt:
        with suppress(ImportError):  # not on every system
            import readline  # noqa: F401  # to import it is what gives input() the arrow keys
    while True:
        try:
            line = input("> " if prompt and sys.stdin.isatty() else "")
        except EOFError:
            return
        if line.strip():
            yield line.strip()


def _endpoint(url: str, model: str) -> Upstream:
    if not model:
        raise InvalidInput("name the model: --model NAME, maybe with --url; or try it with --script FILE")
    try:
        from memwarden.models.openai import endpoint
    except ImportError:
        raise missing_extra("an endpoint (or give --script FILE)", "openai") from None
    return openai_chat(endpoint(url or None), model=model)


def _script_model(file: Path) -> Callable[[list[dict[str, Any]]], Iterator[str]]:
    """Return a model that answers with the lines of a file, in rotation."""
    try:
        lines = [line for line in file.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{str(file)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not lines:
        raise InvalidInput(f"{str(file)!r} holds no line to answer with")
    said = 0

    def model(messages: list[dict[str, Any]]) -> Iterator[str]:
        nonlocal said
        line, said = lines[said % len(lines)], said + 1
        for number, word in enumerate(line.split(" ")):
            # A scripted answer that came at once would not look like a stream.
            time.sleep(PACE_SECONDS if number else 0)
            yield f" {word}" if number else word

    return model
