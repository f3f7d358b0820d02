"""What came of trying to read or change what belongs to somebody else (``memwarden doctor --leaks``)."""

from __future__ import annotations

from typing import NamedTuple


class PathProbe(NamedTuple):
    """One path across one boundary.

    boundary: ``tenant``, ``user``, ``project``, ``agent`` or ``database``. path: the verb or the way in. tried: how
    many attempts were made. leaks: what each attempt that succeeded gave away; empty when none did.
    """

    boundary: str
    path: str
    tried: int
    leaks: tuple[str, ...]
