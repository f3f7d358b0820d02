"""Keeps the categories and allowlists that were put in force over HTTP, for every process of a store."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from memwarden import AsyncWarden, clock
from memwarden.errors import InvalidConfig, InvalidInput
from memwarden.records import Namespace
from memwarden.stores.shared.items import PutItem, StoredItem, require_items

# A namespace that no scope and no tier can name, as that of the keys.
_PLACE = Namespace("memwarden-server", "settings")
_PATH, _KEY = "settings", "categories"
# So long another process may go on with the earlier ones.
FOLLOW_SECONDS = 1.0


class KeptCategories:
    """The categories of a store, as they were put in force last; those of the settings until then."""

    def __init__(self, warden: AsyncWarden) -> None:
        self._warden = warden
        self._looked_at = float("-inf")
        self._text: str | None = None

    async def follow(self) -> None:
        """Take over what another process put in force. It costs a read a second at most."""
        now = time.monotonic()
        if now - self._looked_at < FOLLOW_SECONDS or getattr(self._warden.store, "items", None) is None:
            return
        self._looked_at = now
        stored = await require_items(self._warden.store).get(_PLACE, [(_PATH, _KEY)])
        text = stored[_PATH, _KEY].value if stored else None
        if text is not None and text != self._text:
            await self._warden.reload_categories(json.loads(text))
            self._text = text

    async def put(self, content: Mapping[str, Any]) -> None:
        """Put categories in force from the next call on, and keep them. Raises InvalidInput, StoreError."""
        try:
            await self._warden.reload_categories(content)
        except InvalidConfig as error:
            raise InvalidInput(str(error)) from error
        text, at = json.dumps(content), clock.microseconds(clock.now())
        if getattr(self._warden.store, "items", None) is not None:
            item = StoredItem(_PATH, _KEY, text, at, at)
            await require_items(self._warden.store).write(_PLACE, [PutItem(item)])
        self._text = text
