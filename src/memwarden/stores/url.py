"""Opens a store by its URL. An engine is imported only when a URL names it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from memwarden.errors import InvalidConfig, missing_extra
from memwarden.stores.protocol import Store

# A variable of a shell, or a character in the encoding of URLs.
_NOT_WRITTEN_OUT = re.compile(r"\$\{?[A-Za-z_]|%[0-9A-Fa-f]{2}")


def store_at(url: str) -> Store:
    """Return the store that a URL names, not yet open. Raises InvalidConfig for an unknown URL."""
    if not isinstance(url, str):
        raise InvalidConfig(f"the URL of a store is a text such as sqlite:///file.db, not {url!r:.80}")
    if url == "memory://":
        from memwarden.stores.memory.store import MemoryStore

        return MemoryStore()
    place = place_of(url)
    if place is not None and "?" in url:
        raise InvalidConfig(f"{url!r:.200}: the URL of a file takes no options such as ?mode=ro; leave them out")
    if place is not None and url.startswith("sqlite"):
        from memwarden.stores.sqlite import SqliteStore

        return SqliteStore(place)
    if place is not None:
        from memwarden.stores.jsonfile import JsonStore

        return JsonStore(place)
    if url.startswith(("postgresql://", "postgres://")):
        try:
            from memwarden.stores.postgres import PostgresStore
        except ImportError:
            raise missing_extra("PostgreSQL", "postgres") from None
        return PostgresStore(url)
    raise InvalidConfig(
        f"{without_login(url)!r} names no store; use memory://, sqlite:///file.db, sqlite:////absolute/file.db, "
        "json:///folder or postgresql://login:password@host/database"
    )


def place_of(url: str) -> Path | None:
    """Return the file or folder of a URL, ``~`` as the home folder. None for a store in memory or on a server.

    Raises InvalidConfig for a path that means another than it says.
    """
    prefix, _, path = url.partition(":///")
    if prefix not in ("sqlite", "json") or not path:
        return None
    if "\0" in path or _NOT_WRITTEN_OUT.search(path):
        raise InvalidConfig(
            f"{url!r:.200}: the path is taken as it is; write out variables such as $HOME and characters such as %20"
        )
    try:
        os.fsencode(path)
        return Path(path).expanduser()
    except (UnicodeError, RuntimeError) as error:
        raise InvalidConfig(f"{url!a:.200} names no file ({error})") from None


def without_login(url: str) -> str:
    """Return a URL without its login and password, for messages."""
    return re.sub(r"^(\w+://)[^/]*@", r"\1...@", url)
