"""Which folder a namespace has. No name can lead out of the store's folder, and no two share one on any file system."""

from __future__ import annotations

import hashlib
import re
from pathlib import PurePosixPath

from memwarden.records import Namespace

_PLURAL = {"project": "projects", "user": "users", "task": "tasks"}
_PLAIN = re.compile(r"[a-z0-9_-]")
_LONGEST = 200
_RESERVED = {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
"""Names that Windows gives to devices."""


def folder_of(namespace: Namespace) -> PurePosixPath:
    """Return a namespace's folder below the store's: ``projects/web_app``, ``global``, ``tenants/acme/users/ana``."""
    kind, _, name = namespace.path.partition("/")
    own = PurePosixPath(_PLURAL.get(kind, kind)) / _written(name) if name else PurePosixPath(_written(kind))
    return own if namespace.tenant == "default" else PurePosixPath("tenants") / _written(namespace.tenant) / own


def _written(name: str) -> str:
    """The name with everything but small letters, digits, - and _ as %XX: dots, separators, and capitals too, since
    some file systems take Ana and ana for one. A name that gets too long is told by its hash."""
    said = "".join(item if _PLAIN.match(item) else "".join(f"%{byte:02X}" for byte in item.encode()) for item in name)
    if said in _RESERVED:
        said = f"%{ord(said[0]):02X}{said[1:]}"
    return said if len(said) <= _LONGEST else f"%~{hashlib.sha256(name.encode()).hexdigest()}"
