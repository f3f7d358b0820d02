"""Every schema that is sent to a model obeys the rules of strict schemas."""

from __future__ import annotations

import ast
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import measures
from memwarden.agent import answer_question, overseer, shorten
from memwarden.records import Memory, Namespace
from memwarden.remember.extract import by_model
from memwarden.remember.extract.by_model import TurnBatch, answer_schema
from memwarden.remember.resolve import resolver
from memwarden.upkeep import insights
from strict_endpoint import find_breaches

AT = datetime(2026, 3, 4, 10, tzinfo=UTC)


def turn(number: int, role: str = "user") -> Memory:
    said = f"My boat is {number} years old."
    return Memory(
        id=f"t{number}", namespace=Namespace("default", "user/ana"), text=said, created_at=AT, updated_at=AT, role=role,
        sources=(f"t{number}",),
    )  # fmt: skip


TURNS = (turn(1), turn(2, "assistant"), turn(3))
BATCHES = {
    "turns": TurnBatch(TURNS),
    "known": TurnBatch(TURNS, known=(turn(4), turn(5)), categories=("profile", "tasks")),
    "small": TurnBatch(TURNS, small=True),
    "small, assistant alone": TurnBatch((turn(2, "assistant"),), small=True),
}
SENT: dict[str, Any] = {
    "answer_question.PLAN_SCHEMA": answer_question.PLAN_SCHEMA,
    "answer_question.ANSWER_SCHEMA": answer_question.ANSWER_SCHEMA,
    "overseer.SCHEMA": overseer.SCHEMA,
    "overseer.SAVE_SCHEMA": overseer.SAVE_SCHEMA,
    "shorten.SCHEMA": shorten.SCHEMA,
    "resolver.SCHEMA": resolver.SCHEMA,
    "insights.SCHEMA": insights.SCHEMA,
    **{f"by_model, {name}": answer_schema(batch) for name, batch in BATCHES.items()},
}


@pytest.mark.parametrize("name", SENT)
def test_a_schema_that_is_sent_is_strict(name: str) -> None:
    assert list(find_breaches(SENT[name])) == []


def test_every_call_with_a_schema_is_among_them() -> None:
    found = set()
    for file, tree in measures.trees().items():
        for node in measures.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "ask_json":
                (schema,) = (word.value for word in node.keywords if word.arg == "schema")
                name = schema.id if isinstance(schema, ast.Name) else ast.unparse(schema)
                found.add(f"{Path(file).stem}.{name}")
    listed = {name for name in SENT if not name.startswith("by_model")}
    assert found == listed | {"by_model.answer_schema(batch)"}
    assert by_model.answer_schema is answer_schema


@pytest.mark.parametrize(
    "broken",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": []},
        {"type": "object", "properties": {}, "required": []},
        {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"], "additionalProperties": False},
        {
            "type": "object", "properties": {"a": {"type": "string", "enum": []}}, "required": ["a"],
            "additionalProperties": False,
        },
        {
            "type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
            "required": ["a"], "additionalProperties": False,
        },
    ],
)  # fmt: skip
def test_the_rules_find_what_breaks_them(broken: dict[str, Any]) -> None:
    assert list(find_breaches(broken))
