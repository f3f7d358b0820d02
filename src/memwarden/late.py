"""Records whose fields are worked out when one of them is first read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self


class Late:
    """Base of a frozen dataclass with slots that may be made before its fields are known.

    Whoever reads it sees no difference: comparing, copying, pickling and ``dataclasses.asdict`` work it out as well.
    """

    __slots__ = ("_work_out",)

    @classmethod
    def late(cls, work_out: Callable[[], Self]) -> Self:
        """Return a record that calls ``work_out`` when its first field is read, and then lets go of it."""
        item = object.__new__(cls)
        object.__setattr__(item, "_work_out", work_out)
        return item

    if not TYPE_CHECKING:  # for a type checker every name would exist

        def __getattr__(self, name: str) -> Any:
            # Only reached for what is not there: a slot that was not filled yet.
            known = [field.name for field in fields(self)]
            if name not in known:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            work_out = self._work_out
            if work_out is not None:  # None: another thread was first
                made = work_out()
                for item in known:
                    object.__setattr__(self, item, getattr(made, item))
                object.__setattr__(self, "_work_out", None)  # it holds on to what it needed
            return object.__getattribute__(self, name)
