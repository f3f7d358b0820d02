"""Records of ``memwarden doctor``: findings, repairs and probes of isolation."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable


class HealthFinding(NamedTuple):
    """A defect of a store.

    kind: ``damage``, ``index``, ``orphans``, ``counter``, ``content`` or ``bloat``. where: the table, index or view.
    number: of rows, pages or lines. said: the defect in words. mend: what a repair does about it; empty if no repair
    helps.
    """

    kind: str
    where: str
    number: int
    said: str
    mend: str


class RepairReport(NamedTuple):
    """The result of a repair.

    copy: the copy made beforehand; None when there was nothing to mend. done: mended defects. left: defects that no
    repair can mend.
    """

    copy: Path | None
    done: tuple[HealthFinding, ...]
    left: tuple[HealthFinding, ...]


@runtime_checkable
class HealthCheck(Protocol):
    """A store that can be examined as a whole. Neither method needs the store to be open."""

    async def examine(self) -> list[HealthFinding]:
        """Return every defect and change nothing. Raises StoreError if the store cannot be read at all."""

    async def repair(self, copy: Path | None = None) -> RepairReport:
        """Mend what can be mended, after making a copy. A sound store is left alone.

        copy: path of the copy; None chooses a name beside the store, if it is a file. Raises StoreCorrupt, with nothing
        changed, for damage that no repair can mend; InvalidInput when a copy has to be named; and StoreError.
        """


class PathProbe(NamedTuple):
    """Attempts to reach foreign data across a boundary by a single path (``memwarden doctor --leaks``).

    boundary: ``tenant``, ``user``, ``project``, ``agent`` or ``database``. path: the verb or the way in. tried: the
    number of attempts. leaks: what each successful attempt gave away; empty if all failed.
    """

    boundary: str
    path: str
    tried: int
    leaks: tuple[str, ...]
