"""Selects the namespaces of a listing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from langgraph.store.base import ListNamespacesOp, MatchCondition

from memwarden.errors import InvalidInput

_ANY = "*"


def check(op: ListNamespacesOp) -> None:
    """Raise InvalidInput for an unknown match type and for a depth below 0."""
    for condition in op.match_conditions or ():
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInput(f"Unsupported match type: {condition.match_type!r:.80}; there are prefix and suffix")
    depth = op.max_depth
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
        raise InvalidInput(f"max_depth is a whole number from 0, not {depth!r:.80}")


def common_prefix(op: ListNamespacesOp) -> str | None:
    """Return the longest wildcard-free prefix that every listed path has, or None."""
    longest: Sequence[str] = ()
    for condition in op.match_conditions or ():
        plain = list(condition.path)[: _first_wildcard(condition.path)] if condition.match_type == "prefix" else []
        longest = max(longest, plain, key=len)
    return ".".join(longest) or None


def list_namespaces(paths: Iterable[str], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return a page of the sorted, distinct namespaces that match, cut to the depth."""
    found = (tuple(path.split(".")) for path in paths)
    fitting = [item for item in found if all(_fits(item, condition) for condition in op.match_conditions or ())]
    cut = fitting if op.max_depth is None else {item[: op.max_depth] for item in fitting}
    return sorted(cut)[op.offset : op.offset + op.limit]


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if not path:
        return True
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(wanted in (_ANY, label) for label, wanted in zip(part, path, strict=True))


def _first_wildcard(path: Sequence[str]) -> int:
    return next((number for number, label in enumerate(path) if label == _ANY), len(path))
