"""Keeps old names and import paths working for a release, with a warning that says the new name."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from operator import attrgetter
from types import ModuleType
from typing import Any, Final, TypeVar

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


def hint_at(what: str, names: Mapping[str, str]) -> Callable[[C], C]:
    """Let an AttributeError for a verb of other libraries name the verb that does the same.

    names: the foreign name to what does it here, in words.
    """

    def add(cls: C) -> C:
        def lead(self: Any, name: str) -> Any:
            hint = f"; use {names[name]}" if name in names else ""
            raise AttributeError(f"{what} has no {name!r}{hint}", name=name, obj=self)

        lead.__name__ = "__getattr__"
        setattr(cls, "__getattr__", lead)  # noqa: B010  # type checkers shall go on finding unknown names
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


NEW_NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    "memwarden.chat": {},
    "memwarden.chat.overseer": {"OverseerSettings": "memwarden.OverseerSettings"},
    "memwarden.chat.sessions": {"SessionMemory": "memwarden.SessionMemory"},
    "memwarden.chat.tools": {"AsyncTools": "memwarden.AsyncTools"},
    "memwarden.config": {"Settings": "memwarden.Settings"},
    "memwarden.context_store": {"ContextStore": "memwarden.ContextStore"},
    "memwarden.poison": {"suspicion": "memwarden.find_suspicion"},
    "memwarden.poison.shown": {"without_orders": "memwarden.redact_orders"},
    "memwarden.recall.block": {"Template": "memwarden.Template", "format_context": "memwarden.format_context"},
    "memwarden.recall.dates": {"asked_spans": "memwarden.asked_spans", "spans_in": "memwarden.spans_in"},
    "memwarden.remember.secrets": {"redact": "memwarden.redact"},
    "memwarden.scope": {"AsyncScope": "memwarden.AsyncScope"},
    "memwarden.surfaces.adapters": {},
    "memwarden.surfaces.adapters.langchain": {
        "MemwardenByteStore": "memwarden.MemwardenByteStore",
        "MemwardenRetriever": "memwarden.MemwardenRetriever",
    },
    "memwarden.surfaces.adapters.langgraph": {
        "MemwardenSaver": "memwarden.MemwardenSaver",
        "MemwardenStore": "memwarden.MemwardenStore",
        "acopy_from_memory": "memwarden.acopy_from_memory",
        "copy_from_memory": "memwarden.copy_from_memory",
    },
    "memwarden.sync": {"BoundScope": "memwarden.BoundScope", "Warden": "memwarden.Warden"},
    "memwarden.turn": {},
    "memwarden.turn.chat": {"Action": "memwarden.Action"},
    "memwarden.turn.prefix": {"PrefixMeter": "memwarden.PrefixMeter"},
    "memwarden.turn.settings": {"ChatSettings": "memwarden.ChatSettings"},
    "memwarden.turn.upstreams": {
        "anthropic": "memwarden.anthropic",
        "openai_chat": "memwarden.openai_chat",
        "openai_responses": "memwarden.openai_responses",
    },
    "memwarden.warden": {"AsyncWarden": "memwarden.AsyncWarden"},
}


class OldPathFinder:
    """Finds the modules of the last release that are gone, and makes them out of :data:`NEW_NAMES`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return a spec for an old path, and None for any other."""
        if name not in NEW_NAMES:
            return None
        loader: Any = OldPathFinder
        return ModuleSpec(name, loader, is_package=any(other.startswith(f"{name}.") for other in NEW_NAMES))

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType | None:
        """Return None, so that Python makes an ordinary module."""
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Let the module's names be looked up where they are now."""
        names = NEW_NAMES[module.__name__]

        def find_new(name: str) -> Any:
            if name not in names:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            new = names[name]
            message = f"{module.__name__}.{name} goes with the next release; use {new}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            place, _, last = new.rpartition(".")
            return getattr(import_module(place), last)

        module.__dict__["__getattr__"] = find_new


def install() -> None:
    """Make the old paths importable. They come last, so that they never hide a module that exists."""
    if OldPathFinder not in sys.meta_path:
        sys.meta_path.append(OldPathFinder)
