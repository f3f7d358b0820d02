"""Asks a person to confirm changes of global memory: the questions, and who answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from memwarden.concurrency.isolation import call_user_code
from memwarden.errors import Denied, InvalidInput

# Shows a question to a person and returns whether they said yes. A plain function runs in a thread of its own.
Confirm = Callable[[str], bool | Awaitable[bool]]

CLEAR_QUESTION = "DANGER: Clear ALL global memory? This cannot be undone."


def add_question(preference: str, category: str) -> str:
    """Return the question before a preference is added."""
    return f"Add global preference: '{preference}' (category: {category})?"


def modify_question(old: str, new: str, category: str) -> str:
    """Return the question before a preference is changed."""
    return f"Change global preference: '{old}' to '{new}' (category: {category})?"


def remove_question(words: str) -> str:
    """Return the question before an item is removed."""
    return f"Remove from global memory: '{words}'?"


def undo_question(change: int) -> str:
    """Return the question before a change is undone."""
    return f"Undo change {change} of global memory?"


async def ask_confirmation(question: str, callback: Confirm | None, confirm: bool, *, must_ask: bool = False) -> bool:
    """Return whether a change may be made: by the callback's answer, or by the caller's word.

    Args:
        confirm: the caller has the person's word already; then nobody is asked.
        must_ask: the caller's word is not enough.

    Raises Denied when there is nobody to ask and the caller does not confirm.
    """
    if not isinstance(confirm, bool) or not isinstance(must_ask, bool):
        raise InvalidInput(f"confirm and require_confirmation are True or False, not {confirm!r:.40}, {must_ask!r:.40}")
    if confirm and not must_ask:
        return True
    if callback is None:
        raise Denied(
            f"nobody was asked: {question} Give confirmation_callback, which shows the question to a person and "
            "returns their answer" + ("" if must_ask else ", or confirm=True when you have their word")
        )
    # Only True counts: a callback that returns a text such as "no" must not confirm.
    return await call_user_code(callback, question) is True
