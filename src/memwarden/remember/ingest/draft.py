"""What a caller asks to remember, checked, before it has an id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memwarden.records import Channel
from memwarden.remember.ingest.messages import Message


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that a caller asks for, checked, before it has an id."""

    text: str
    channel: str = Channel.SEMANTIC
    kind: str | None = None
    category: str = "activity"
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    pinned: bool = False
    source: str | None = None
    sources: tuple[str, ...] = ()
    summary: str | None = None
    context: str | None = None
    characters: tuple[str, ...] = ()
    created_at: datetime | None = None
    valid_from: datetime | None = None
    trust: str | None = None
    role: str | None = None
    name: str | None = None

    def of(self, message: Message) -> Draft:
        """The same for the words of a message, which keep their role, name, id and time."""
        return replace(
            self,
            text=message.text,
            role=message.role,
            name=message.name,
            sources=self.sources or ((message.id,) if message.id else ()),
            created_at=self.created_at or message.created_at,
        )
