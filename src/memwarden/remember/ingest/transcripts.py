"""What somebody said in an entry of a transcript of Claude Code, which its SDK writes as well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_SPOKEN: Final = ("user", "assistant")
# Flags of entries that the program wrote itself, whatever their type.
_OWN: Final = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
# Beginnings of texts in the user's name that the program wrote: commands, their output, its notes.
_OWN_TEXTS: Final = ("<command-", "<local-command-", "<bash-", "[Request interrupted by user")
# Reminders of the program within a text of the user. One without an end goes on to the end of the text.
_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>\s*|\Z)", re.DOTALL)


def read_said(entry: Mapping[str, Any]) -> Any:
    """Return the content of what user or assistant said; None for an entry that nobody said."""
    message, role = entry.get("message"), entry.get("type")
    if role not in _SPOKEN or not isinstance(message, Mapping) or any(entry.get(flag) for flag in _OWN):
        return None
    content = message.get("content")
    if role != "user":
        return content
    if isinstance(content, list):
        said = [part for part in map(_without_reminders, content) if not _is_own(_text_of(part))]
        return said if said or not content else None
    text = _without_reminders(content)
    return None if _is_own(text) else text


def _text_of(part: Any) -> Any:
    return part.get("text") if isinstance(part, Mapping) else part


def _without_reminders(part: Any) -> Any:
    text = _text_of(part)
    if not isinstance(text, str) or "<system-reminder>" not in text:
        return part
    text = _REMINDER.sub("", text).strip()
    return {**part, "text": text} if isinstance(part, Mapping) else text


def _is_own(text: Any) -> bool:
    return isinstance(text, str) and (not text.strip() or text.lstrip().startswith(_OWN_TEXTS))
