"""Labels of the paths under which adapters keep items."""

from __future__ import annotations


def make_label(name: str) -> str:
    """Return a name as one label of a path, where dots separate labels. Different names have different labels."""
    return name.replace("%", "%25").replace(".", "%2E")
