"""The verbs of a scope that change what is remembered: correct, pin, promote, forget, restore and reset."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Any

from memwarden import arguments, clock
from memwarden import checks as scale
from memwarden.api.reads import ScopeReads
from memwarden.checks import quote
from memwarden.concurrency.optimistic import change_atomically
from memwarden.errors import Conflict, Denied, InvalidInput, NotFound, StoreError
from memwarden.filters import Condition
from memwarden.observability.instrument import instrumented
from memwarden.observability.records import Node, Op
from memwarden.records import QUOTATION, Channel, Memory, MemoryState, Namespace, WriteResult, read_part
from memwarden.remember.corrections import (
    correct_sentences,
    find_corrected,
    holds_quoted,
    make_correction,
    replace_quoted,
    split_by_end,
    stands_alone,
)
from memwarden.remember.echoes import find_echoes, name_echoes, name_echoes_of_correction
from memwarden.remember.extract import procedures
from memwarden.remember.ingest.messages import checked_metadata, checked_names
from memwarden.remember.wholes import find_other_parts
from memwarden.remember.write_store import is_reserved
from memwarden.text.language import checked_text
from memwarden.tiers.backend import parse_namespace

log = logging.getLogger(__name__)


class ScopeChanges(ScopeReads):
    """The verbs of a scope that change single memories, and those that forget many."""

    @instrumented(Node.HOTPATH, Op.DELETE)
    async def forget(self, memory_id: str | Sequence[str], *, expected_version: int | None = None) -> WriteResult:
        """Take memories out of every answer about the present. They can be restored for 30 days.

        An answer of the assistant that repeats a memory stays. The reason of the memory's result names it.

        Args:
            expected_version: of a single memory: refuse (Conflict) unless this is the stored version when it goes.

        Raises NotFound for an unknown id, or one that is forgotten already, and then forgets nothing.
        """
        if not isinstance(memory_id, str | Sequence | Set):
            raise InvalidInput(f"a memory id is a text, or give a list of them, not {quote(memory_id)}")
        ids = [memory_id] if isinstance(memory_id, str) else list(memory_id)
        rev = None if expected_version is None else (await self._runtime.store.head(self.who.namespace)).rev
        for item in ids:
            await self._check_there(item)
        known = await self._runtime.store.get(self.who.namespace, ids)
        if expected_version is not None:
            if len(ids) != 1:
                raise InvalidInput("expected_version goes with the id of a single memory")
            arguments.check_version(await self.get(ids[0]), expected_version)
        echoes = await self._find_echoes(known)
        forgotten = await self._runtime.services.writer.forget(self.who, ids, decided_at=rev)
        return name_echoes(forgotten, echoes)

    async def _find_echoes(self, memories: Sequence[Memory]) -> dict[str, list[str]]:
        """Return the answers that repeat memories, none if the store fails.

        It is called before the write, because an error after it would hide from the caller that it is done.
        """
        try:
            return await find_echoes(self._runtime.store, self.who.namespace, memories, self._readable)
        except StoreError as error:
            log.warning("answers that repeat what goes were not looked for: %s", type(error).__name__)
            return {}

    @instrumented(Node.HOTPATH, Op.DELETE)
    async def reset(self, *, confirm: str | None = None, filters: Mapping[str, Any] | None = None) -> WriteResult:
        """Forget everything of the user that the agent may read, saved state and sessions too. All can be restored.

        Each memory comes back by :meth:`restore` within 30 days. The user context stays: consent alone changes it.

        Args:
            confirm: the user's name, so that nobody's memory is emptied by a slip.
            filters: forget only what fits, such as ``{"run_id": "r1"}``.

        Raises InvalidInput that says how much would be forgotten, unless ``confirm`` is the user's name.
        """
        where = self._where(filters)
        if self._readable is not None:
            where = (*where, Condition("category", "$in", self._readable))
        found = await self._runtime.store.find_ids(self.who.namespace, where)
        ids = [item for item in found if not is_reserved(item)]
        if confirm != self.who.user:
            raise InvalidInput(
                f"this would forget {len(ids):,} memories of the user {self.who.user!r}; "
                f"to do it, give confirm={self.who.user!r}"
            )
        if not ids:
            return WriteResult((await self._runtime.store.head(self.who.namespace)).rev)
        return await self._runtime.services.writer.forget(self.who, ids, reset=True)

    @instrumented(Node.HOTPATH, Op.RESTORE)
    async def restore(self, memory_id: str) -> WriteResult:
        """Bring a forgotten memory back, as it was. Returns ``restored``, also when it is active already.

        Raises NotFound for an unknown id, Conflict for a memory that was merged into another (undo the merge) and
        for a quarantined memory, which never was an answer.
        """
        (found,) = await self._any_state([arguments.check_memory_id(memory_id)])
        if found.state == MemoryState.MERGED:
            raise Conflict(f"memory {memory_id!r} was merged into another; look at its history and undo the merge")
        if found.state not in (MemoryState.ACTIVE, MemoryState.SOFT_DELETED):
            raise Conflict(
                f"memory {memory_id!r} was never forgotten: it is {found.state}, stored apart from all answers; "
                "review.approve lets it in"
            )
        return await self._runtime.services.writer.restore(self.who, memory_id)

    @instrumented(Node.HOTPATH, Op.UPDATE)
    async def update(
        self,
        memory_id: str,
        *,
        text: str | None = None,
        quote: str | None = None,
        kind: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        tags: Sequence[str] | None = None,
        pinned: bool | None = None,
        summary: str | None = None,
        context: str | None = None,
        valid_from: datetime | str | float | None = None,
        valid_to: datetime | str | float | None = None,
        metadata: Mapping[str, Any] | None = None,
        clear: Sequence[str] = (),
        expected_version: int | None = None,
    ) -> WriteResult:
        """Correct a memory: what is given is changed, the rest stays. The old content stays in the history.

        For something that became otherwise, state the new fact with :meth:`remember`: it keeps what was true before.

        A turn stays as it was said. A new text for it is a new memory with all that is given here and the time of the
        turn. The turn answers no question from then on, also none about the past, because it was never true. If a
        later statement replaced the right words, they end with it. The sentences around those of a ``quote`` stay
        true, as a memory in their own words, or in the new memory if they are not understood alone. All of it is one
        decision, which one undo takes back. A later ``quote`` for the same turn corrects that memory. What had ended
        is corrected for its own time.

        Args:
            text: the right words. They take the place of the whole text, or of ``quote``.
            quote: whole words of the memory in any case, for example a line of :meth:`overview` with or without its
                label. What it holds more than once is quoted as a whole sentence.
            valid_from, valid_to: since when it is true, and since when no longer. The end may not be before the
                beginning, which is ``created_at`` where ``valid_from`` is not known.
            metadata: takes the place of all that it had.
            clear: fields to be emptied: of ``valid_from``, ``valid_to``, ``summary``, ``context`` and ``metadata``.
            expected_version: refuse (Conflict) unless this is the stored version, so that nobody's change is lost.

        An answer of the assistant that repeats the wrong words of a turn stays. The reason of the result names it.

        Raises NotFound, InvalidInput (also for a ``quote`` that the memory does not hold), CategoryDenied, Conflict
        (also for words of a turn that were corrected already), StoreError.
        """
        old = await self.get(memory_id)
        settings = self._runtime.settings
        if quote is not None:
            if text is None:
                raise InvalidInput("quote goes with the text that takes its place")
            if read_part(old.tags) is not None:
                raise InvalidInput(f"{memory_id!r} is a part of a longer text; give the whole text without quote")
        given: dict[str, Any] = {
            "text": None if text is None else checked_text(text, "text", settings.max_text_bytes),
            "kind": None if kind is None else arguments.check_kind(kind),
            "category": None if category is None else self._own_category(category),
            "importance": None if importance is None else scale.check_importance(importance),
            "tags": None if tags is None else checked_names(tags, "tags"),
            "pinned": None if pinned is None else arguments.check_truth(pinned, "pinned"),
            "summary": None if summary is None else checked_text(summary, "summary", settings.max_text_bytes),
            "context": None if context is None else checked_text(context, "context", settings.max_text_bytes),
            "valid_from": None if valid_from is None else clock.parse(valid_from, "valid_from"),
            "valid_to": None if valid_to is None else clock.parse(valid_to, "valid_to"),
            "metadata": checked_metadata(metadata, "metadata"),
        }
        changes = {name: value for name, value in given.items() if value is not None}
        changes |= dict.fromkeys(arguments.check_cleared(clear, changes))
        if "metadata" in changes:
            changes["payload"] = changes.pop("metadata")
        if old.channel == Channel.PROCEDURAL:
            changes = procedures.check_corrected_procedure(changes)
        if not changes:
            raise InvalidInput(f"nothing to change; give {', '.join(given)} or clear")
        if expected_version is not None:
            arguments.check_version(old, expected_version)
        known = [old]

        async def write() -> WriteResult:
            latest = known.pop() if known else await self.get(memory_id)  # what others gave meanwhile stays
            if text is not None and latest.channel == Channel.TURN:
                return await self._correct_turn(latest, changes, quote)
            return await self._change(latest, changes, quote)

        if expected_version is not None:
            return await write()
        return await change_atomically(self.who.namespace, write)

    async def _change(self, latest: Memory, changes: Mapping[str, Any], quote: str | None) -> WriteResult:
        """Write a memory with changed fields."""
        new = replace(latest, **changes)
        if quote is not None:
            whole = replace_quoted(latest.text, quote, new.text)
            new = replace(new, text=checked_text(whole, "text", self._runtime.settings.max_text_bytes))
        if new.text != latest.text:  # corrected words are no quotation any more
            new = replace(new, tags=tuple(tag for tag in new.tags if tag != QUOTATION))
        if {"valid_from", "valid_to"} & changes.keys():
            arguments.check_order(new)
        return await self._runtime.services.writer.update(self.who, latest, new, self._readable)

    async def _correct_turn(self, turn: Memory, changes: Mapping[str, Any], quote: str | None) -> WriteResult:
        """State the right words of a turn, and end it. changes: fields of the new memory."""
        if turn.valid_to is not None and (standing := await find_corrected(self._runtime.store, turn)):
            return await self._correct_again(turn, changes, quote, standing)
        words, rest, most = changes["text"], "", self._runtime.settings.max_text_bytes
        if quote is not None:
            words, rest = correct_sentences(turn.text, quote, words)
            words = checked_text(words, "text", most)
        right: list[tuple[str, datetime | None]] = [(words, None)]
        if turn.valid_to is None and not {"valid_from", "valid_to"} & changes.keys():
            right = await split_by_end(self._runtime.store, turn, words, self._readable)
        if rest and right == [(words, None)] and not stands_alone(rest):
            whole = replace_quoted(turn.text, str(quote), changes["text"])
            right, rest = [(checked_text(whole, "text", most), None)], ""
        draft, *past = (make_correction(turn, {**changes, "text": text}, end) for text, end in right)
        if self.who.agent is not None:  # its words are not more trusted than those that it replaces
            draft, *past = (replace(each, trust=turn.trust) for each in (draft, *past))
        if {"valid_from", "valid_to"} & changes.keys() and draft.expires_at is not None:
            arguments.check_expiry(draft.expires_at, draft.valid_from)
        wrong = replace(turn, text=correct_sentences(turn.text, quote, quote)[0] if quote is not None else turn.text)
        echoes = await self._find_echoes([wrong])
        result = await self._runtime.services.writer.correct_turn(self.who, turn, [draft, *past], rest)
        return name_echoes_of_correction(result, echoes.get(turn.id, ()))

    async def _correct_again(
        self, turn: Memory, changes: Mapping[str, Any], quote: str | None, standing: Sequence[str]
    ) -> WriteResult:
        """Correct quoted words of a corrected turn in what stands for it. standing: ids, the right words first.

        Raises Conflict when none of them holds the words.
        """
        readable = self._readable
        found = await self._runtime.store.get(self.who.namespace, standing)
        known = [item for item in found if readable is None or item.category in readable]
        holding = (item for item in known if quote is not None and holds_quoted(item.text, quote))
        if (item := next(holding, None)) is not None:
            return await self._change(item, changes, quote)
        named = next((f"; memory {item.id!r} took its place" for item in known if item.id == standing[0]), "")
        raise Conflict(f"message {turn.id!r} was corrected already{named}")

    async def pin(self, memory_id: str, pinned: bool = True) -> WriteResult:
        """Put a memory first in line for a context block and keep it from expiring; ``False`` takes that back."""
        return await self.update(memory_id, pinned=pinned)

    async def promote(self, memory_id: str, to: str) -> str:
        """Copy a memory to a project, on purpose. It stays where it is. Returns the id of the copy.

        The copy says where it comes from, and both journals record it. Called twice, it copies once. to:
        ``project/<id>``; ``tiers.project(...).promote`` goes on to all projects.

        Raises Denied for an agent, since others than the person read what a project holds; NotFound; InvalidInput for
        another place, for turns and saved state, and for what is no longer true; Conflict; StoreError.
        """
        if self.who.agent is not None:
            raise Denied(f"agent {self.who.agent!r} may not promote: a person decides what a project learns of them")
        target = parse_namespace(to, self.who.namespace.tenant)
        if not target.path.startswith("project/"):
            raise InvalidInput(f"a memory of a user goes to project/<id>, not to {target.path}")
        return await change_atomically((self.who.namespace, memory_id), lambda: self._promote(memory_id, target))

    async def _promote(self, memory_id: str, target: Namespace) -> str:
        memory = await self.get(memory_id)
        if memory.channel in (Channel.TURN, Channel.STATE) or is_reserved(memory.id):
            raise InvalidInput(f"{memory_id!r} is a {memory.channel}, and facts alone are promoted; remember it first")
        if memory.valid_to is not None and memory.valid_to <= clock.now():
            raise InvalidInput(f"{memory_id!r} is no longer true; promote what took its place")
        store, items = self._runtime.store, self._runtime.services.items
        copied = await items.promote(memory, target)
        others = await find_other_parts(store, self.who.namespace, [memory])
        for part in await store.get(self.who.namespace, others):
            await items.promote(part, target)
        return copied

    async def _any_state(self, ids: Sequence[str]) -> list[Memory]:
        """Return memories in any state. Raises NotFound for an unknown id or a category that the agent may not read."""
        found = await self._runtime.store.get(self.who.namespace, ids, removed=True)
        readable = self._readable
        known = {item.id for item in found if readable is None or item.category in readable}
        for item in ids:
            if item not in known:
                raise NotFound(f"no memory {item!r} in {self.who.namespace.path}")
        return found

    async def _check_there(self, memory_id: str) -> None:
        """Raise NotFound for a memory that is not active, with the reason where the caller may know it."""
        try:
            await self.get(memory_id)
        except NotFound:
            (found,) = await self._any_state([memory_id])
            if found.state == MemoryState.SOFT_DELETED:
                raise NotFound(f"memory {memory_id!r} is forgotten already; restore brings it back") from None
            raise

    def _own_category(self, name: str) -> str:
        """A category that the agent may write. Raises CategoryDenied."""
        category = arguments.check_category(self._runtime.settings, name)
        self._categories.check_writable(self.who.agent, category)
        return category

    def _stated_category(self, name: str | None) -> str:
        return self._categories.default_for(self.who.agent) if name is None else self._own_category(name)
