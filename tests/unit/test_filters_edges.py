"""Values at the edge of what a filter or a setting can hold."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from memwarden.errors import InvalidConfig, InvalidFilter
from memwarden.filters import parse, sort_field
from memwarden.settings import Settings, settings_from


@pytest.mark.parametrize(
    "filters",
    [
        {"created_at": {"$gt": "0001-01-01T00:00:00+14:00"}},
        {"updated_before": "9999-12-31T23:59:59-14:00"},
        {"created_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))},
        {"importance": 10**400},
        {"importance": {"$lt": -(10**400)}},
        {"importance_min": 10**400},
    ],
)
def test_what_overflows_is_refused(filters: dict[str, Any]) -> None:
    with pytest.raises(InvalidFilter):
        parse(filters)


@pytest.mark.parametrize("name", [None, 5, ["kind"], {}])
def test_an_order_is_a_name(name: Any) -> None:
    with pytest.raises(InvalidFilter, match="cannot order by"):
        sort_field(name)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "nan", "inf", "-1", 0])
def test_a_gap_between_sessions_is_finite(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="session_gap_hours"):
        settings_from({"session_gap_hours": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "4", True])
def test_settings_made_by_hand_are_checked_too(value: Any) -> None:
    with pytest.raises(InvalidConfig, match="session_gap_hours"):
        Settings(session_gap_hours=value)


def test_a_whole_number_is_finite() -> None:
    with pytest.raises(InvalidConfig, match="max_text_bytes"):
        settings_from({"max_text_bytes": float("inf")})
