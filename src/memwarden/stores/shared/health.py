"""What ``memwarden doctor`` finds wrong with a store, and what became of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable


class HealthFinding(NamedTuple):
    """One thing that is wrong.

    kind: ``damage``, ``index``, ``orphans``, ``counter``, ``content`` or ``bloat``. where: the table, index or view.
    number: of rows, pages or lines. said: what is wrong, in words. mend: what a repair does about it; empty when
    nothing can be done.
    """

    kind: str
    where: str
    number: int
    said: str
    mend: str


class RepairReport(NamedTuple):
    """What a repair did. copy: the copy that was made before; None when nothing had to be done. done: what was mended.
    left: what is still wrong, and cannot be mended."""

    copy: Path | None
    done: tuple[HealthFinding, ...]
    left: tuple[HealthFinding, ...]


@runtime_checkable
class HealthCheck(Protocol):
    """A store that can be looked through as a whole. Neither method needs the store to be open."""

    async def examine(self) -> list[HealthFinding]:
        """Look through everything and change nothing. Raises StoreError for what cannot even be read."""

    async def repair(self, copy: Path | None = None) -> RepairReport:
        """Mend what can be mended, after a copy was made. Does nothing where nothing is wrong.

        copy: where to; None takes a name beside the store where that can be. Raises StoreCorrupt, with everything left
        as it was, for damage that no repair can mend; InvalidInput when a copy has to be named; and StoreError.
        """


class PathProbe(NamedTuple):
    """One path across one boundary.

    boundary: ``tenant``, ``user``, ``project``, ``agent`` or ``database``. path: the verb or the way in. tried: how
    many attempts were made. leaks: what each attempt that succeeded gave away; empty when none did.
    """

    boundary: str
    path: str
    tried: int
    leaks: tuple[str, ...]
