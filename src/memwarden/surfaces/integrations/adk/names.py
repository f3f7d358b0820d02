"""Names of ADK as scopes."""

from __future__ import annotations

from memwarden.api.blocking import Warden
from memwarden.api.scope import AsyncScope
from memwarden.api.warden import AsyncWarden
from memwarden.errors import InvalidInput
from memwarden.records import Scope
from memwarden.remember.ingest.messages import checked_name
from memwarden.surfaces.integrations.binding import StoreBinding


def bind_apps(warden: Warden | AsyncWarden) -> StoreBinding:
    """Return the binding of a service for every app. Raises InvalidInput for a scope: ADK names tenant and user."""
    if not isinstance(warden, Warden | AsyncWarden):
        raise InvalidInput(f"give a Warden or an AsyncWarden, since ADK names the app and the user; not {warden!r:.80}")
    return StoreBinding(warden)


def make_scope(bound: StoreBinding, app_name: str, user_id: str, session_id: str | None = None) -> AsyncScope:
    """Return the verbs of a user of an app, in the thread of a session. Raises InvalidInput for a name that is none."""
    tenant, user = checked_name(app_name, "app_name"), checked_name(user_id, "user_id")
    if tenant is None or user is None:
        raise InvalidInput("app_name and user_id are texts, not None")
    return AsyncScope(bound.runtime, Scope(tenant=tenant, user=user, thread=checked_name(session_id, "session_id")))
