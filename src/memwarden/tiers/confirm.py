"""Asking a person before what holds everywhere is changed (E4): the texts, and who is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from memwarden.concurrency.isolation import call_user_code
from memwarden.errors import Denied, InvalidInput

Confirm = Callable[[str], bool | Awaitable[bool]]
"""Shows a question to a person and returns whether they said yes. A plain function runs in a thread of its own."""

CLEAR_QUESTION = "DANGER: Clear ALL global memory? This cannot be undone."


def add_question(preference: str, category: str) -> str:
    """Design E's question before a preference is added."""
    return f"Add global preference: '{preference}' (category: {category})?"


def modify_question(old: str, new: str, category: str) -> str:
    """The question before a preference is changed."""
    return f"Change global preference: '{old}' to '{new}' (category: {category})?"


def remove_question(words: str) -> str:
    """The question before one item is taken out."""
    return f"Remove from global memory: '{words}'?"


def undo_question(change: int) -> str:
    """The question before a decision is taken back."""
    return f"Undo change {change} of global memory?"


async def ask_confirmation(question: str, callback: Confirm | None, confirm: bool, *, must_ask: bool = False) -> bool:
    """Return whether a change may be made: what the callback answers, or yes when the caller vouches for it.

    Args:
        confirm: the caller has the person's word already; then nobody is asked.
        must_ask: the caller's word is not enough.

    Raises Denied when there is nobody to ask and the caller does not vouch for it.
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
    return await call_user_code(callback, question) is True
