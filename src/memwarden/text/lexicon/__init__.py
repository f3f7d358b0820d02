"""Word lists as data: function words, small talk, everyday words, kin, calendars, groups of letters."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def load_lexicon(name: str) -> dict[str, Any]:
    """Return the tables of a TOML file of this folder, named without its ending."""
    return tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


def load_words(name: str, table: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each key of a table."""
    return {key: tuple(listed.split()) for key, listed in load_lexicon(name)[table].items()}


def read_lines(name: str) -> list[str]:
    """Return the lines of a text file of this folder."""
    return resources.files(__package__).joinpath(name).read_text("utf-8").splitlines()


def load_months(language: str) -> tuple[str, ...]:
    """Return the names of the months in small letters, January first."""
    return tuple(load_lexicon("calendar")["months"][language].split())


def load_weekdays(language: str) -> tuple[str, ...]:
    """Return the names of the weekdays in small letters, Monday first."""
    return tuple(load_lexicon("calendar")["weekdays"][language].split())
