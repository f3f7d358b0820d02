"""The public API: a warden opens a store and makes scopes."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from memwarden import settings as configuration
from memwarden.agent.state import AsyncState
from memwarden.agent.stored_sessions import AsyncSessions, AsyncToolCache
from memwarden.api.checkpoints import AsyncThreadCheckpoints
from memwarden.api.foreign_names import hint_at
from memwarden.api.scope import FOREIGN_NAMES as SCOPE_NAMES
from memwarden.api.scope import AsyncScope
from memwarden.categories import read_categories
from memwarden.checks import quote
from memwarden.errors import InvalidConfig, InvalidInput, missing_extra
from memwarden.models.protocols import first_width
from memwarden.observability.instrument import record_event
from memwarden.observability.records import EventDraft, Node, Op, Status
from memwarden.records import Scope
from memwarden.remember.ingest.messages import checked_name
from memwarden.runtime.services import Runtime, Services
from memwarden.settings import Settings
from memwarden.stores.protocol import Store
from memwarden.stores.transfer.backup import Manifest, require_backup
from memwarden.stores.url import store_at
from memwarden.text.language import checked_text
from memwarden.tiers.backend import AsyncBackend, parse_namespace
from memwarden.tiers.tiers import AsyncTiers
from memwarden.upkeep.jobs import AsyncJobs

if TYPE_CHECKING:
    from memwarden.api.exports import FormatExport
    from memwarden.api.imports import ImportSummary, ImportTick
    from memwarden.api.services import ServiceMaker
    from memwarden.models.protocols import ChatModel, Embedder, Reranker
    from memwarden.remember.imports.source import ImportOptions
    from memwarden.stores.transfer.bundle import ExportResult, ImportResult
    from memwarden.stores.transfer.erasure import ErasureReceipt
    from memwarden.upkeep.embedded import ProgramWorker

log = logging.getLogger(__name__)
Config = Settings | Mapping[str, Any] | str | Path | None
# Verbs that are of a scope, here or in other libraries.
FOREIGN_NAMES = {name: f"scope(user=...), and there {verb}" for name, verb in SCOPE_NAMES.items()} | dict.fromkeys(
    ("observe", "remember", "query", "context", "find", "forget", "reset"), "scope(user=...), which has it"
)
# Whose words may be stated. The other roles of messages are never stored.
STATED_ROLES = ("user", "assistant")


@hint_at("a warden", FOREIGN_NAMES)
class AsyncWarden:
    """The memory of agents on a store. Make it with :meth:`open` and use it as an async context manager.

    >>> async with AsyncWarden.open("sqlite:///notes.db") as warden:
    ...     me = warden.scope(user="ana", thread="t1")
    ...     await me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
    ...     found = await me.query("What can't I eat?")
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
        *,
        follow_store: bool = False,
        prepare: bool = True,
    ) -> None:
        self._follow_store = follow_store
        self._prepare = prepare
        self._runtime = Runtime(store, settings, AsyncScope, chat_model)
        self._tiers = AsyncTiers(self._runtime)
        self._reranker = reranker
        self._maker: ServiceMaker | None = None
        self._worker: ProgramWorker | None = None
        self._login_url = ""

    @classmethod
    def open(
        cls,
        url: str | None = None,
        config: Config = None,
        *,
        reranker: Reranker | None = None,
        chat_model: ChatModel | None = None,
        follow_store: bool = False,
        prepare: bool = True,
        key: str | None = None,
    ) -> Self:
        """Return a warden for a store. It opens on ``async with`` (or :meth:`start`).

        Args:
            url: ``memory://``, ``sqlite:///relative.db``, ``sqlite:////absolute/path.db``, ``json:///folder`` or
                ``postgresql://login:password@host/database`` (extra ``postgres``), or of a server,
                ``https://host`` (extra ``client``), whose settings then hold for what is kept, and those here for
                what models see. None means the setting ``db``, by default a file in the user's data folder.
            config: settings, a mapping of settings, or the path of a ``memwarden.toml``. None reads the environment
                and ``memwarden.toml`` in the working folder.
            reranker: what judges a query's candidates by reading them
            (:class:`memwarden.models.protocols.Reranker`), within
                5 seconds. When it fails or is late, the order stays as it was.
            chat_model: what judges pairs of statements that no rule decides
            (:class:`memwarden.models.protocols.ChatModel`).
                None takes the setting ``chat_model``. Without both the rules alone decide.
            follow_store: a store that holds vectors is opened with its own embedder, and the setting is for new stores.
            prepare: whether what searches and writes is loaded when the warden opens, or at the first call that needs
                it. A short program that only reads lists starts sooner without.
            key: of a server; None: what the environment holds as ``MEMWARDEN_KEY``.

        Raises InvalidConfig for a wrong setting or URL.
        """
        if url is not None and str(url).startswith(("http://", "https://")):
            from memwarden.api.remote import RemoteWarden

            settings = _settings(config)
            own = RemoteWarden(
                str(url), key or os.environ.get("MEMWARDEN_KEY"), settings, chat_model or _chat_model(settings)
            )
            return cast("Self", own)
        settings = _settings(config)
        if url is not None and not str(url).strip():
            raise InvalidConfig("the URL of the store is empty; leave it out for the setting db, or name a store")
        chat = chat_model or _chat_model(settings)
        made = cls(
            store_at(url or settings.db or configuration.default_db()),
            settings,
            reranker,
            chat,
            follow_store=follow_store,
            prepare=prepare,
        )
        made._login_url = url or settings.db
        return made

    async def start(self) -> Self:
        """Open the store. Raises StoreError.

        A store that holds vectors of another model than the settings name is open for all that needs no vector. The
        rest raises ModelMismatch.
        """
        worker = self._make_worker()
        await self._runtime.store.open()
        try:
            bound = (await self._runtime.store.about()).model
            if self._prepare or bound is None:
                embedder = await asyncio.to_thread(self._make_embedder, bound)
                if bound is None:
                    embedder = await self._bind(embedder)
                self._runtime.use(self._make_services(embedder))
            else:
                self._runtime.make_on_first_use(lambda: self._make_services(self._make_embedder(bound)))
            self._runtime.events.start()
            self._runtime.closed = False
            if worker is not None:
                worker.start(self.jobs)
                self._worker = worker
        except BaseException:
            await self._runtime.store.close()
            raise
        return self

    async def back_up(self, path: str | Path) -> Manifest:
        """Copy the whole store as it stands now into a new file, while it is in use.

        Args:
            path: where to. It must not be there yet. ``memwarden backup restore`` makes a store of it again.

        Raises InvalidInput for ``memory://``, Conflict when ``path`` is there, StoreFull, StoreUnavailable,
        StoreCorrupt.
        """
        return await require_backup(self.store).back_up(Path(path))

    async def erase(
        self,
        *,
        user: str,
        tenant: str = "default",
        thread: str | None = None,
        memory: str | None = None,
        confirm: str | None = None,
        dry_run: bool = False,
        begun: ErasureReceipt | None = None,
    ) -> ErasureReceipt:
        """Remove a person, a thread or a memory for good, with what rests on it. Nothing brings it back, no undo.

        Of a person goes everything in the namespace ``user/<user>``. Of a thread its turns, what was made of them, its
        session, checkpoints and events. Of a memory what names it as its source. The storage is rewritten. The receipt
        counts what went and names what is left to the operator, such as backups.

        Args:
            thread, memory: the name of a thread, or the id of a memory in any state; neither: the person.
            confirm: the user's name, so that nothing is erased by a slip.
            dry_run: only count. The receipt that comes back is not finished.
            begun: the unfinished receipt of a call that was broken off.

        Raises InvalidInput that says how much would be erased, unless ``confirm`` is the user's name; StoreUnavailable
        where this login may not remove rows, or another process keeps the file from being rewritten.
        """
        from memwarden.api.erasure import erase_planned, plan_erasure

        namespace = self.scope(user=user, tenant=tenant).who.namespace
        if thread is not None and memory is not None:
            raise InvalidInput("a thread or a memory is erased, not both in one call")
        checked_name(thread, "thread"), checked_name(memory, "memory")
        plan = begun or await plan_erasure(self.store, namespace, thread=thread, memory=memory)
        if dry_run:
            return plan
        if confirm != user:
            what = f"the user {user!r}" if plan.whole else plan.subject
            raise InvalidInput(
                f"this would erase {what} for good, {plan.total:,} rows with {sum(plan.kinds.values()):,} "
                f"memories; to do it, give confirm={user!r}"
            )
        if (plan.namespace, plan.thread, plan.memory) != (namespace, thread, memory):
            raise InvalidInput(f"the erasure that was begun is of {plan.subject}, which is something else")
        return await erase_planned(self._runtime, plan)

    async def export(self, path: str | Path, *, user: str, tenant: str = "default") -> ExportResult:
        """Write everything that is remembered of a person into a new file, for any store, and for the person to read.

        The file is a zip: ``memories.jsonl`` to read, ``pages.jsonl`` with vectors and history, and checksums. The same
        content gives the same bytes. Items, checkpoints and operational events stay behind, and are counted.

        Raises NotFound for somebody of whom nothing is remembered, Conflict when ``path`` is there, StoreFull.
        """
        from memwarden.stores.transfer.bundle import export_bundle

        await self._runtime.events.flush()
        return await export_bundle(self.store, self.scope(user=user, tenant=tenant).who.namespace, Path(path))

    async def export_format(self, path: str | Path, format: str, *, user: str, tenant: str = "default") -> FormatExport:
        """Write what is remembered of a person into a new file of another format, and count what it cannot carry.

        format: ``mem0``, ``graph``, ``markdown`` (a new folder) or ``markdown-zip``. Raises as :meth:`export` does.
        """
        from memwarden.api.exports import export_format

        return await export_format(self.store, self.scope(user=user, tenant=tenant).who.namespace, Path(path), format)

    async def import_(self, path: str | Path, *, dry_run: bool = False) -> ImportResult:
        """Read a file that :meth:`export` wrote, with its dates, numbers and history, and compare both.

        The whole file is checked before anything is written. A call that was broken off goes on where it was.

        Args:
            dry_run: check the file and say how much is new.

        Raises InvalidInput with the line, StoreCorrupt; Conflict when something else is remembered of
        the person here.
        """
        from memwarden.stores.transfer.bundle import import_bundle

        return await import_bundle(self.store, Path(path), dry_run=dry_run)

    async def import_files(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        user: str | None = None,
        tenant: str = "default",
        format: str | None = None,
        options: ImportOptions | None = None,
        trust: str | None = None,
        dry_run: bool = False,
        progress: ImportTick | None = None,
        wait: bool = False,
        encoding: ImportTick | None = None,
    ) -> ImportSummary:
        """Read what other programs keep, with its dates: exports of chats, memories, notes, graphs, logs, tables.

        All of it is checked before anything is written. Reading a file again takes only what changed. So does a call
        that was broken off. A note or a memory that was edited ends what it stated before, and what rested on that.

        Args:
            paths: files, folders or zips. Also the URL of a PostgreSQL database with a LangGraph saver or store.
            user: whose it is; None: as the file says, else ``default``.
            format: a name of :data:`memwarden.remember.imports.registry.FORMATS`; None: recognised by the content.
            options: what the file does not say: a time zone, the order of days and months, columns.
            trust: whom statements come from; None: from outside (``external``). Messages are of who said them.
            dry_run: check and count. progress: is told how many messages and statements are done, of how many.
            wait: until what came in is found by its meaning too. Else that goes on beside, for as long as the warden is
                open, and what is left when it closes is made while the next one reads there. encoding: is told how
                many memories have been looked at meanwhile, of how many.

        A malformed entry, such as a note whose front matter is no YAML, is left out and named in ``refused`` of the
        summary. With ``options.strict`` it is an error.

        Raises InvalidInput that names the file and the line, and then nothing was imported; NotFound; StoreError.
        """
        from memwarden.api.imports import import_paths
        from memwarden.remember.imports.source import ImportOptions

        listed = [paths] if isinstance(paths, str | Path) else list(paths)
        checked_name(user, "user")
        said = options or ImportOptions()
        return await import_paths(
            self._runtime, listed, user=user, tenant=tenant, name=format, options=said,
            trust=trust, dry_run=dry_run, progress=progress, wait=wait, encoding=encoding,
        )  # fmt: skip

    async def verify_erased(self, receipt: ErasureReceipt) -> list[str]:
        """Return everything in this store that contradicts a receipt of an erasure. Nothing when all is gone.

        Asks for rows of every table, and looks through the bytes of files for ids. Raises StoreError.
        """
        from memwarden.stores.transfer.erasure import find_traces

        return await find_traces(self.store, receipt)

    async def reload_categories(self, source: str | Path | Mapping[str, Any] | None = None) -> None:
        """Read categories and allowlists again. They hold from the next call on, in all scopes of this warden.

        Args:
            source: a YAML file or its content; None: the file that the setting ``categories`` names.

        Raises InvalidConfig, and then the earlier ones hold.
        """
        source = self._runtime.settings.categories.file if source is None else source
        if source is None:
            raise InvalidConfig("the setting categories names no file; give the file or its content")
        categories = await asyncio.to_thread(read_categories, source)
        if categories.file is None:
            categories = replace(categories, file=self._runtime.settings.categories.file)
        self._runtime.settings = replace(self._runtime.settings, categories=categories)
        if self._runtime.made_services is not None:
            self._runtime.made_services.guard.categories = categories
            self._runtime.made_services.recall.categories = categories
            self._runtime.made_services.extractor.categories = categories

    async def close(self) -> None:
        """Finish pending writes and let go of the store. May be called twice."""
        await self._runtime.end_turns()
        self._runtime.closed = True
        if self._worker is not None:
            await self._worker.hang_up()
        for search in list(self._runtime.late.values()):
            search.cancel()
        await self._runtime.looks.close()
        for beside in (self._runtime.accesses, self._runtime.prompts, self._runtime.events):
            await beside.close()
        if self._maker is not None and self._runtime.made_services is not None:
            await self._maker.close(self._runtime.made_services)
        await self._runtime.store.close()
        if self._worker is not None:  # last: what this program has to write waits for no child
            await self._worker.close()
            self._worker = None

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def scope(
        self,
        *,
        user: str = "default",
        agent: str | None = None,
        thread: str | None = None,
        run: str | None = None,
        actor: str | None = None,
        project: str | None = None,
        task: str | None = None,
        role: str | None = None,
        tenant: str = "default",
    ) -> AsyncScope:
        """Return the verbs bound to somebody.

        Args:
            user: whose memory it is: everything is written to and read from the namespace ``user/<user>``.
            agent: the agent that asks. It may read the categories of its allowlist only. None: all categories.
            thread: the conversation. Turns of a thread follow each other. None: the thread ``default``.
            run, actor: recorded with what is written, to filter by.
            project, task: :meth:`query` and :meth:`context` also search the memory of the project, of the task, and
                what holds for all projects. What is written, and all other verbs, stay with the user's own.
            role: whose words those are that are stated without a role: ``user`` or ``assistant``. None: a person's or
                the program's that states them.
            tenant: hard isolation. Nothing is ever shared between tenants.

        Raises InvalidInput for names that are empty, too long or unprintable, UnknownAgent for an agent without an
        allowlist.
        """
        names = {"tenant": tenant, "user": user, "agent": agent, "thread": thread, "run": run, "actor": actor}
        names |= {"project": project, "task": task, "role": role}
        for required in ("tenant", "user"):
            if names[required] is None:
                raise InvalidInput(f"{required} is a text of at least a character, not None")
        checked = {name: checked_name(value, name) for name, value in names.items()}
        if role is not None and role not in STATED_ROLES:
            raise InvalidInput(f"role is {' or '.join(STATED_ROLES)}, not {quote(role)}")
        self._runtime.settings.categories.readable(checked["agent"], None)
        return AsyncScope(self._runtime, Scope(**checked))  # type: ignore[arg-type]  # tenant and user are no None, see above

    def backend(self, namespace: str, *, tenant: str = "default") -> AsyncBackend:
        """Return the storage contract of the tiers for a namespace.

        Args:
            namespace: ``user/<id>``, ``project/<id>``, ``task/<id>`` or ``global``.

        Raises InvalidInput for another path.
        """
        where = parse_namespace(namespace, tenant)
        services = self._runtime.services
        return AsyncBackend(self._runtime.store, services.items, services.indexes, services.larges, where)

    async def users(self, *, tenant: str = "default") -> list[str]:
        """Return the users of a tenant of whom something was ever kept, by name. Raises StoreError."""
        prefix = "user/"
        spaces = [space for space in await self.store.namespaces() if space.path.startswith(prefix)]
        return [space.path.removeprefix(prefix) for space in spaces if space.tenant == tenant]

    def record_refusal(self, who: Scope, op: Op, reason: str) -> None:
        """Record as an operational event that a server refused a caller before any verb was called.

        Args:
            who: of whose events it is to be. op: what was asked for. reason: a word that holds no content.
        """
        if self._runtime.events.takes:
            record_event(self._runtime.events.put, who, Node.HOTPATH, EventDraft(op, Status.ERROR, reason))

    @property
    def pending(self) -> int:
        """Number of texts for which this process has yet to make vectors. Until then words alone find them."""
        filler = self._runtime.services.filler
        return 0 if filler is None else filler.count_all()

    async def embed(self, text: str) -> list[float]:
        """Return the vector of a text by the store's embedder, for ``backend.query_semantic``.

        Raises InvalidInput for no text and for a warden without an embedder, ModelMismatch, ModelUnavailable.
        """
        embedder = self._runtime.services.embedder
        if embedder is None:
            raise InvalidInput("this store has no vectors (embedder 'none')")
        said = checked_text(text, "text", self._runtime.settings.max_text_bytes)
        made = (await asyncio.to_thread(embedder.embed, [said]))[0]
        return [float(number) for number in made[: first_width(embedder)]]

    @property
    def tiers(self) -> AsyncTiers:
        """The stores of tasks, projects and what holds everywhere."""
        return self._tiers

    @property
    def jobs(self) -> AsyncJobs:
        """The jobs that keep memory clean: run, and when each is due."""
        return AsyncJobs(self._runtime)

    @property
    def state(self) -> AsyncState:
        """What was saved by key for the user ``default``. Of somebody else: ``scope(user=...).state``."""
        return self.scope().state

    @property
    def sessions(self) -> AsyncSessions:
        """The stored sessions of the user ``default``. Of somebody else: ``scope(user=...).sessions``."""
        return self.scope().sessions

    @property
    def tool_cache(self) -> AsyncToolCache:
        """The cached results of tools of the user ``default``. Of somebody else: ``scope(user=...).tool_cache``."""
        return self.scope().tool_cache

    @property
    def checkpoints(self) -> AsyncThreadCheckpoints:
        """The checkpoints of the user ``default``. Of somebody else: ``scope(user=...).checkpoints``."""
        return self.scope().checkpoints

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._runtime.settings

    @property
    def store(self) -> Store:
        """The store underneath, for what the verbs do not offer. Writing past the verbs is not supported."""
        return self._runtime.store

    def _make_worker(self) -> ProgramWorker | None:
        """Return the worker beside this program, not yet begun, as the setting says. Raises InvalidConfig."""
        if self._runtime.settings.upkeep == "off":
            return None
        from memwarden.upkeep.embedded import ProgramWorker

        return ProgramWorker(self._runtime.settings, self.store.place, self._login_url)

    def _make_embedder(self, bound: str | None) -> Embedder | None:
        from memwarden.models.choice import make_embedder  # numpy

        return make_embedder(self._runtime.settings, bound, follow=self._follow_store)

    def _make_services(self, embedder: Embedder | None) -> Services:
        """Put the services together. Here, so that importing memwarden loads none of them."""
        from memwarden.api.services import ServiceMaker

        self._maker = ServiceMaker(self._runtime, self._reranker)
        return self._maker.make(embedder)

    async def _bind(self, embedder: Embedder | None) -> Embedder | None:
        """Bind a new store to an embedder. Another process may have been faster, with another."""
        from memwarden.models.choice import MismatchedEmbedder  # numpy

        name = embedder.name if embedder else "none"
        bound = await self._runtime.store.identity(name)
        return embedder if bound == name else MismatchedEmbedder(bound, self._runtime.settings.embedder)


def _settings(config: Config) -> Settings:
    if isinstance(config, Settings):
        return config
    if isinstance(config, Mapping):
        wrong = [name for name in config if not isinstance(name, str) or name == "file"]
        if wrong:
            raise InvalidConfig(f"unknown setting {wrong[0]!r:.80}")
        return configuration.load(**config)
    if config is not None and not isinstance(config, str | Path):
        raise InvalidConfig(f"config is settings, a mapping of them or the path of a file, not {config!r:.80}")
    return configuration.load(None if config is None else Path(config))


def _chat_model(settings: Settings) -> ChatModel | None:
    """Return the configured chat model. Raises InvalidConfig for a missing extra."""
    if not settings.chat_model:
        return None
    try:
        from memwarden.models.openai import OpenAIChat
    except ImportError:
        raise missing_extra("chat_model", "openai") from None
    return OpenAIChat(
        settings.chat_model,
        settings.chat_url or None,
        seconds=settings.chat_seconds,
        fixed=settings.chat_sampling == "fixed",
        reasoning_tokens=settings.chat_reasoning_tokens,
    )
