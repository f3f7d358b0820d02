"""The warden that a scope belongs to, for tests that are handed a scope alone."""

from __future__ import annotations

from memwarden import AsyncWarden
from memwarden.api.scope import AsyncScope


def warden_of(me: AsyncScope) -> AsyncWarden:
    """Return a warden around the same open store and parts."""
    warden = AsyncWarden(me._parts.store, me._parts.settings)
    warden._parts = me._parts
    return warden
