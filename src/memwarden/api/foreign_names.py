"""Names that other memory libraries use, answered with the name of the verb that does the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

C = TypeVar("C", bound=type)


def hint_at(what: str, names: Mapping[str, str]) -> Callable[[C], C]:
    """Add the name of our verb to the AttributeError for a verb of another library.

    Args:
        what: noun for an object of the class, for example "a scope".
        names: foreign verb to the phrase that names ours.
    """

    def add(cls: C) -> C:
        def refuse(self: Any, name: str) -> Any:
            hint = f"; use {names[name]}" if name in names else ""
            raise AttributeError(f"{what} has no {name!r}{hint}", name=name, obj=self)

        refuse.__name__ = "__getattr__"
        setattr(cls, "__getattr__", refuse)  # noqa: B010  # type checkers go on finding unknown names
        return cls

    return add
