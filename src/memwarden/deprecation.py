"""Keeps old names working for a release, with a warning that says the new name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def warn_renamed(old: str, new: str, *, stacklevel: int = 3) -> None:
    """Warn the caller's caller that a name goes with the next release."""
    warnings.warn(f"{old} goes with the next release; use {new}", DeprecationWarning, stacklevel=stacklevel)


def add_old_names(what: str, names: Mapping[str, str]) -> Callable[[C], C]:
    """Give a class its old method names again; each call warns, and goes to the new method.

    Args:
        what: what an object of the class is called, for the warning.
        names: old name to new name, which may be that of a handle's method: ``{"waiting": "review.pending"}``.

    Type checkers do not know the old names, so that they find what is left of them.
    """

    def add(cls: C) -> C:
        for old, new in names.items():
            setattr(cls, old, _alias(f"{what}.{old}", f"{what}.{new}", attrgetter(new)))
        return cls

    return add


def _alias(old: str, new: str, find_method: Callable[[Any], Callable[..., Any]]) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_renamed(old, new)
        return find_method(self)(*args, **kwargs)

    alias: Any = call
    alias.__name__ = old.rpartition(".")[2]
    alias.__doc__ = f"Deprecated: use ``{new}``."
    alias.__deprecated__ = f"use {new}"
    return call
