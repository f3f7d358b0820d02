"""Categories and allowlists: what an agent may read and write, and mistakes in a declaration."""

from __future__ import annotations

from typing import Any

import pytest

from memwarden.categories import (
    Category,
    categories_content,
    is_own_category,
    own_category,
    read_categories,
    shipped_categories,
)
from memwarden.errors import CategoryDenied, InvalidConfig, InvalidInput, UnknownAgent

DECLARED = {
    "categories": {
        "system": [{"name": "activity"}, {"name": "health", "rag_length": 3, "expire_days": "never"}],
        "custom": [{"name": "profile", "context": "all", "expire_below": 0.2, "half_life_days": 30}],
    },
    "allowlists": {"coach": ["activity", "health"], "clerk": ["profile"]},
}


def test_a_declaration_is_read() -> None:
    declared = read_categories(DECLARED).declared
    assert declared["health"] == Category("health", rag_length=3, never_expires=True)
    assert declared["profile"] == Category("profile", always=True, expire_below=0.2, half_life_days=30.0)
    assert set(declared) == {"activity", "health", "profile", "agent:coach", "agent:clerk"}


def test_every_agent_has_a_category_of_its_own() -> None:
    assert read_categories(DECLARED).allowlists["coach"] == ("activity", "health", "agent:coach")
    assert own_category("coach") == "agent:coach"
    assert is_own_category("agent:coach")
    assert not is_own_category("coach")


@pytest.mark.parametrize(
    ("agent", "wanted", "readable"),
    [
        (None, None, None),
        (None, ("health",), ("health",)),
        ("coach", None, ("activity", "health", "agent:coach")),
        ("coach", ("health",), ("health",)),
        ("clerk", ("agent:clerk", "profile"), ("agent:clerk", "profile")),
    ],
)
def test_an_agent_reads_its_allowlist(
    agent: str | None, wanted: tuple[str, ...] | None, readable: tuple[str, ...] | None
) -> None:
    assert read_categories(DECLARED).readable(agent, wanted) == readable


@pytest.mark.parametrize(
    ("agent", "wanted", "error", "words"),
    [
        ("coach", ("profile",), CategoryDenied, "may not read 'profile'; its allowlist is: activity, health"),
        ("coach", ("health", "agent:clerk"), CategoryDenied, "may not read 'agent:clerk'"),
        ("nurse", None, UnknownAgent, "agents with an allowlist: clerk, coach"),
        (None, ("helth",), InvalidInput, "unknown category 'helth'"),
        (None, (), InvalidInput, "empty list"),
        ("coach", (), InvalidInput, "empty list"),
    ],
)
def test_a_forbidden_category_is_an_error(
    agent: str | None, wanted: tuple[str, ...], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        read_categories(DECLARED).readable(agent, wanted)


def test_an_agent_writes_what_it_reads() -> None:
    categories = read_categories(DECLARED)
    categories.check_writable("coach", "health")
    categories.check_writable(None, "anything")
    with pytest.raises(CategoryDenied, match="may not write 'profile'"):
        categories.check_writable("coach", "profile")


def test_the_default_category_of_an_agent_is_its_own_unless_it_reads_activity() -> None:
    categories = read_categories(DECLARED)
    assert categories.default_for(None) == "activity"
    assert categories.default_for("coach") == "activity"
    assert categories.default_for("clerk") == "agent:clerk"


def test_what_is_written_out_is_read_back() -> None:
    for categories in (read_categories(DECLARED), shipped_categories()):
        assert read_categories(categories_content(categories)) == categories


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"category": {}}, "unknown key 'category'"),
        ({"categories": []}, "categories must be a mapping"),
        ({"categories": {"mine": []}}, "'system' and 'custom', not 'mine'"),
        ({"categories": {"custom": {"name": "a"}}}, "must be a list"),
        ({"categories": {"custom": [{"name": " "}]}}, "non-empty text"),
        ({"categories": {"custom": [{"name": "a"}, {"name": "a"}]}}, "declared twice"),
        ({"categories": {"custom": [{"name": "agent:x"}]}}, "own category of an agent"),
        ({"categories": {"custom": [{"name": "a", "colour": 1}]}}, r"custom\[0\] has an unknown key 'colour'"),
        ({"categories": {"custom": [{"name": "a", "context": "some"}]}}, "'all' or 'rag'"),
        ({"categories": {"custom": [{"name": "a", "rag_length": 0}]}}, "at least 1"),
        ({"categories": {"custom": [{"name": "a", "rag_length": True}]}}, "at least 1"),
        ({"categories": {"custom": [{"name": "a", "context": "all", "rag_length": 2}]}}, "'rag' only"),
        ({"categories": {"custom": [{"name": "a", "expire_days": 0}]}}, "at least 1, or never"),
        ({"categories": {"custom": [{"name": "a", "expire_below": 1.1}]}}, "a number from 0 to 1, not 1.1"),
        ({"categories": {"custom": [{"name": "a", "half_life_days": 0.5}]}}, "a number from 1 to 36500"),
        ({"allowlists": {"x": "activity"}}, "must be a list"),
    ],
)
def test_a_mistake_is_named_with_its_place(content: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        read_categories(content)
