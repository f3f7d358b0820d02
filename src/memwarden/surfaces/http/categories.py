"""Keeps the categories and allowlists that were put in force over HTTP, for every process of a store."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from memwarden import AsyncWarden, clock
from memwarden.categories import WORKING, categories_content
from memwarden.errors import InvalidConfig, InvalidInput
from memwarden.records import Namespace
from memwarden.stores.shared.items import DropItem, Items, PutItem, StoredItem, require_items

# A namespace that no scope and no tier can name, as that of the keys.
_PLACE = Namespace("memwarden-server", "settings")
_PATH, _KEY = "settings", "categories"
# Path of the allowlists that were put one by one, by agent. Each is an item of its own, so that two callers who put
# lists of two agents at once, in one process or two, keep both.
_LISTS = "allowlists"
# So long another process may go on with the earlier ones.
FOLLOW_SECONDS = 1.0


class KeptCategories:
    """The categories of a store, as they were put in force last; those of the settings until then."""

    def __init__(self, warden: AsyncWarden) -> None:
        self._warden = warden
        self._own = categories_content(warden.settings.categories)
        self._looked_at = float("-inf")
        self._text: str | None = None

    @property
    def _items(self) -> Items | None:
        """The items of the store; None for a store that keeps none."""
        return None if getattr(self._warden.store, "items", None) is None else require_items(self._warden.store)

    async def follow(self) -> None:
        """Take over what another process put in force. It costs two reads a second at most."""
        now = time.monotonic()
        if now - self._looked_at < FOLLOW_SECONDS or (items := self._items) is None:
            return
        self._looked_at = now
        await self._take_over(items)

    async def _take_over(self, items: Items) -> None:
        agents = await items.keys(_PLACE, _LISTS)
        stored = await items.get(_PLACE, [(_PATH, _KEY), *((_LISTS, agent) for agent in agents)])
        if not stored:
            return
        whole = stored.pop((_PATH, _KEY), None)
        content = self._own if whole is None else json.loads(whole.value)
        lists = {agent: json.loads(item.value) for (_, agent), item in stored.items()}
        content = {**content, "allowlists": {**content["allowlists"], **lists}}
        text = json.dumps(content, sort_keys=True)
        if text != self._text:
            await self._warden.reload_categories(content)
            self._text = text

    async def put(self, content: Mapping[str, Any]) -> None:
        """Put categories and allowlists in force from the next call on, in place of all earlier ones, and keep them.

        Raises InvalidInput, StoreError.
        """
        await self._reload(content)
        if (items := self._items) is not None:
            drops = [DropItem(_LISTS, agent) for agent in await items.keys(_PLACE, _LISTS)]
            await items.write(_PLACE, [PutItem(_item(_PATH, _KEY, content)), *drops])
            await self._take_over(items)

    async def put_allowlist(self, agent: str, names: Sequence[str]) -> None:
        """Put an agent's allowlist in force from the next call on, and keep it. Raises InvalidInput, StoreError.

        With a list that is not empty an agent keeps ``state`` and ``procedural``. :meth:`put` takes them away.
        """
        content = categories_content(self._warden.settings.categories)
        had = content["allowlists"].get(agent, ())
        names = [*names, *(name for name in WORKING if names and name in had and name not in names)]
        await self._reload({**content, "allowlists": {**content["allowlists"], agent: list(names)}})
        if (items := self._items) is not None:
            await items.write(_PLACE, [PutItem(_item(_LISTS, agent, list(names)))])
            await self._take_over(items)

    async def _reload(self, content: Mapping[str, Any]) -> None:
        try:
            await self._warden.reload_categories(content)
        except InvalidConfig as error:
            raise InvalidInput(str(error)) from error
        self._text = None


def _item(path: str, key: str, value: Any) -> StoredItem:
    at = clock.microseconds(clock.now())
    return StoredItem(path, key, json.dumps(value), at, at)
