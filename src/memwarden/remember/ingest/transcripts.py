"""What somebody said in an entry of a transcript of Claude Code, which its SDK writes as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SPOKEN: Final = ("user", "assistant")
# Flags of entries that the program wrote itself, whatever their type.
_OWN: Final = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")
# Beginnings of texts in the user's name that the program wrote: commands, their output and its reminders.
_OWN_TEXTS: Final = ("<command-", "<local-command-", "<bash-", "<system-reminder>")


def read_said(entry: Mapping[str, Any]) -> Any:
    """Return the content of what user or assistant said; None for an entry that nobody said."""
    message, role = entry.get("message"), entry.get("type")
    if role not in _SPOKEN or not isinstance(message, Mapping) or any(entry.get(flag) for flag in _OWN):
        return None
    content = message.get("content")
    if role != "user":
        return content
    if isinstance(content, list):
        said = [part for part in content if not _is_own(part.get("text") if isinstance(part, Mapping) else part)]
        return said if said or not content else None
    return None if _is_own(content) else content


def _is_own(text: Any) -> bool:
    return isinstance(text, str) and text.lstrip().startswith(_OWN_TEXTS)
