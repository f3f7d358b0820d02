"""Screening of texts from outside."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memwarden.records import Kind, MemoryState, Trust

# A turn names its thread as its source in this form, an item of a task or project its store.
_PERSON_SOURCE = re.compile(r"thread/(?!\.+$)[^\s/\\?#]+")
_TIER_SOURCE = re.compile(r"global|(?:user|project|task)/(?!.*\.\.)[^\\?#]+")
TRUST_RANK: Mapping[str, int] = {Trust.EXTERNAL: 0, Trust.ASSISTANT: 1, Trust.PERSON: 2}


@dataclass(frozen=True, slots=True)
class Screening:
    """The result of screening a text. state: of the new memory. kinds: of what is suspicious."""

    state: MemoryState = MemoryState.ACTIVE
    kinds: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reason in words, for the caller."""
        if self.kinds == UNSEEN:
            return "it comes from outside, and external = 'held': a person lets it in"
        return f"it looks like orders for an assistant ({', '.join(self.kinds)}): held back, never shown to a model"


NOT_SUSPICIOUS = Screening()
# The kind of what is held back for its source alone.
UNSEEN = ("external",)


def trust_of(role: str | None, kind: str | None = None, source: str | None = None) -> Trust:
    """Return the trust of words by their role, kind and source.

    Words of a person have no source, or a thread of memwarden's own. People write sources in countless ways
    ("notes.pdf", "www.shop.com", "tool:x"), so that no list of what is external could be complete.
    """
    if kind == Kind.TOOL_OUTPUT or not (source is None or _PERSON_SOURCE.fullmatch(source)):
        return Trust.EXTERNAL
    if role == "assistant":
        return Trust.ASSISTANT
    return Trust.PERSON if role in (None, "user") else Trust.EXTERNAL


def trust_of_item(kind: str | None, source: str | None) -> Trust:
    """Return the trust of an item of a task or project: its store may be its source."""
    named_by_tier = source is not None and _TIER_SOURCE.fullmatch(source)
    return trust_of(None, kind, None if named_by_tier else source)


def screen(trust: str, *texts: str | None, unreviewed: bool = False, hold: bool = False) -> Screening:
    """Decide the state of a new memory by all of its texts that a prompt may show.

    What comes from outside and looks like orders is quarantined.

    unreviewed: screen words of any trust, since whoever states them may not decide on a quarantined text.
    hold: quarantine all that comes from outside, whatever it says.
    """
    if trust != Trust.EXTERNAL and not unreviewed:
        return NOT_SUSPICIOUS
    from memwarden.security.injection import find_suspicion

    kinds = tuple(sorted({kind for text in texts if text for kind in find_suspicion(text).kinds}))
    if hold and trust == Trust.EXTERNAL:
        kinds = kinds or UNSEEN
    return Screening(MemoryState.QUARANTINED, kinds) if kinds else NOT_SUSPICIOUS


# One of these stands in every known order and fake tag without foreign letters; most answers have none of them, and
# need not be looked at more closely.
_MAY_ORDER = re.compile(
    r"[<\[{]|\"\s{0,3}:|ignor|disregard|forget|overr|bypass|discard|neglect|prompt|instruct|system|developer|admin|root|"
    r"operator|are\s+now|from\s+now|vergiss|missacht|verwirf|du\s+bist|olvid|descart|desobed|esquec|dimentic|oubli|"
    r"action\s+input|sistema",
    re.IGNORECASE,
)


def screen_answer(text: str) -> Screening:
    """Decide the state of a model's answer in a conversation: what a page made it repeat orders to the next model."""
    if text.isascii() and not _MAY_ORDER.search(text):
        return NOT_SUSPICIOUS
    from memwarden.security.injection.detector import find_known_orders

    kinds = find_known_orders(text).kinds
    return Screening(MemoryState.QUARANTINED, kinds) if kinds else NOT_SUSPICIOUS
