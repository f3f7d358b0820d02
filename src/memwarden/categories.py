"""Categories and the agents' allowlists: shipped ones, or those of a YAML file, checked once, when it is read."""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from memwarden.errors import CategoryDenied, InvalidConfig, InvalidInput, UnknownAgent

# The category of turns, and of what is stated without a category.
DEFAULT_CATEGORY: Final = "activity"
# The category of what memwarden writes down for itself: which memories stand in a prompt.
OWN_RECORDS: Final = "in-prompt"
# Categories of what an agent works with: saved state with sessions, chats and the overseer, and procedures. A file that
# declares system categories and names these nowhere was written for another program, so each of its agents has them.
WORKING: Final = ("state", "procedural")
_TOP_LEVEL: Final = ("categories", "allowlists")
log = logging.getLogger(__name__)
_CATEGORY_KEYS: Final = ("name", "context", "rag_length", "expire_days", "expire_below", "half_life_days")


def own_category(agent: str) -> str:
    """Return the category that an agent has for itself, whatever its allowlist says."""
    return f"agent:{agent}"


def is_own_category(name: str) -> bool:
    """Whether a category is an agent's own."""
    return name.startswith("agent:")


@dataclass(frozen=True, slots=True)
class Category:
    """A category and how its memories reach a query.

    Attributes:
        always: True for ``context: all``: where something answers, the others of the category fill 40 % of the budget.
        rag_length: the most memories of it that may be candidates for a query, or None for no limit.
        expire_days: a memory that stood in no answer for longer may expire; None: 60 days.
        expire_below: and only when its importance, 0..1, is below this; None: 0.4.
        half_life_days: with it, importance counts half after so many days without an answer; None: it stays.
        never_expires: whether memories of it never expire (``expire_days: never``).
    """

    name: str
    always: bool = False
    rag_length: int | None = None
    expire_days: int | None = None
    expire_below: float | None = None
    half_life_days: float | None = None
    never_expires: bool = False


@dataclass(frozen=True, slots=True)
class Categories:
    """The declared categories and the agents' allowlists.

    file: the YAML file that they were read from, if they were.
    """

    declared: Mapping[str, Category]
    allowlists: Mapping[str, tuple[str, ...]]
    file: Path | None = field(default=None, compare=False)

    def known(self, name: str) -> str:
        """Return ``name``. Raises InvalidInput if no such category is declared."""
        if name not in self.declared:
            known = ", ".join(sorted(self.declared))
            raise InvalidInput(f"unknown category {name!r}; declared are: {known}. Add it to the categories file")
        return name

    def default_for(self, agent: str | None) -> str:
        """Return the category of an agent's turns and of what it states without a category.

        It is the agent's own where the agent may not read what everybody says: its answers rest on memories that
        others may not read.
        """
        if agent is None or DEFAULT_CATEGORY in self.allowlists.get(agent, ()):
            return DEFAULT_CATEGORY
        return own_category(agent)

    def check_writable(self, agent: str | None, category: str) -> None:
        """Raise CategoryDenied for a category that an agent may not write: it writes what it may read."""
        allowed = self.readable(agent, None)
        if allowed is not None and category not in allowed:
            raise CategoryDenied(f"agent {agent!r} may not write {category!r}; its allowlist is: {', '.join(allowed)}")

    def readable(self, agent: str | None, wanted: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the categories that a query may search; None means all of them.

        Without an agent every category may be read. With an agent, ``wanted`` None means the agent's whole
        allowlist, and a wanted category outside of it is refused, never silently dropped.

        Raises UnknownAgent for an agent without an allowlist, CategoryDenied, InvalidInput for an unknown category.
        """
        if wanted is not None and not wanted:
            raise InvalidInput("categories is an empty list; name a category or leave it out")
        if agent is None:
            return wanted if wanted is None else tuple(self.known(name) for name in wanted)
        allowed = self.allowlists.get(agent)
        if allowed is None:
            known = ", ".join(sorted(self.allowlists)) or "none"
            raise UnknownAgent(f"agent {agent!r} has no allowlist; agents with an allowlist: {known}")
        if wanted is None:
            return allowed
        denied = [name for name in wanted if name not in allowed]
        if denied:
            raise CategoryDenied(
                f"agent {agent!r} may not read {', '.join(map(repr, denied))}; its allowlist is: {', '.join(allowed)}"
            )
        return wanted


def read_categories(source: str | Path | Mapping[str, Any]) -> Categories:
    """Read categories and allowlists from a YAML file or from its content.

    Raises InvalidConfig that names the place that is wrong.
    """
    if isinstance(source, Mapping):
        return _categories(source, "categories", None)
    import yaml  # 20 ms that only those need who have a file of their own

    try:
        text = Path(source).read_text(encoding="utf-8")
        # A file of a few lines may name billions of elements by references.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            raise InvalidConfig(f"{str(source)!r} uses references (*name); write everything out")
        content = yaml.safe_load(text)
    except OSError as error:
        raise InvalidConfig(f"cannot read the categories file {str(source)!r}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{str(source)!r} is not valid YAML: {error}") from error
    if not isinstance(content, Mapping):
        raise InvalidConfig(f"{str(source)!r} must hold a mapping with 'categories' and 'allowlists'")
    return _categories(content, str(source), Path(source))


@cache
def shipped_categories() -> Categories:
    """Return what holds when nothing is configured."""
    return read_categories(tomllib.loads(Path(__file__).with_name("categories.toml").read_text(encoding="utf-8")))


def categories_content(categories: Categories) -> dict[str, Any]:
    """Return what :func:`read_categories` makes the same categories of."""
    declared = [
        {"name": item.name, "context": "all" if item.always else "rag"}
        | ({} if item.rag_length is None else {"rag_length": item.rag_length})
        | _policy_content(item)
        for item in categories.declared.values()
        if not is_own_category(item.name)
    ]
    lists = {
        agent: [name for name in names if name != own_category(agent)] for agent, names in categories.allowlists.items()
    }
    return {"categories": {"custom": declared}, "allowlists": lists}


def _policy_content(item: Category) -> dict[str, Any]:
    """Return the keys of a category's policy of expiry that are set."""
    days = "never" if item.never_expires else item.expire_days
    keys = {"expire_days": days, "expire_below": item.expire_below, "half_life_days": item.half_life_days}
    return {key: value for key, value in keys.items() if value is not None}


def _categories(content: Mapping[str, Any], where: str, file: Path | None) -> Categories:
    unknown = sorted(str(name) for name in content if name not in _TOP_LEVEL)
    if unknown:
        raise InvalidConfig(f"{where} has an unknown key {unknown[0]!r:.80}; keys are: {', '.join(_TOP_LEVEL)}")
    groups = _mapping(content.get("categories", {}), f"{where}: categories")
    unknown = sorted(str(name) for name in groups if name not in ("system", "custom"))
    if unknown:
        raise InvalidConfig(f"{where}: categories has 'system' and 'custom', not {unknown[0]!r}")
    declared: dict[str, Category] = {}
    for group, entries in groups.items():
        for number, entry in enumerate(_sequence(entries or [], f"{where}: categories.{group}")):
            category = _category(entry, f"{where}: categories.{group}[{number}]")
            if category.name in declared:
                raise InvalidConfig(f"{where}: category {category.name!r} is declared twice")
            if is_own_category(category.name):
                raise InvalidConfig(f"{where}: {category.name!r} begins as the own category of an agent does")
            declared[category.name] = category
    allowlists: dict[str, tuple[str, ...]] = {}
    for agent, names in _mapping(content.get("allowlists") or {}, f"{where}: allowlists").items():
        allowlists[str(agent)] = tuple(
            _name(item, f"{where}: allowlists.{agent}")
            for item in _sequence(names or [], f"{where}: allowlists.{agent}")
        )
        for name in allowlists[str(agent)]:
            declared.setdefault(name, Category(name))
    missing = [name for name in WORKING if file and allowlists and groups.get("system") and name not in declared]
    if missing:
        log.warning("%s names no %s: each agent may read and write it", where, ", ".join(missing))
    for name in missing:
        declared[name] = Category(name)
    for agent, names in allowlists.items():
        names = (*names, *missing)
        own = own_category(agent)
        declared.setdefault(own, Category(own))
        allowlists[agent] = tuple(dict.fromkeys((*names, own)))
    return Categories(declared, allowlists, file)


def _category(entry: Any, where: str) -> Category:
    entry = _mapping(entry, where)
    unknown = sorted(set(entry) - set(_CATEGORY_KEYS))
    if unknown:
        raise InvalidConfig(f"{where} has an unknown key {unknown[0]!r}; keys are: {', '.join(_CATEGORY_KEYS)}")
    name = _name(entry.get("name"), where)
    context = entry.get("context", "rag")
    if context not in ("all", "rag"):
        raise InvalidConfig(f"{where}: context is 'all' or 'rag', not {context!r}")
    length = entry.get("rag_length")
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 1):
        raise InvalidConfig(f"{where}: rag_length is a whole number of at least 1, not {length!r}")
    if length is not None and context == "all":
        raise InvalidConfig(f"{where}: rag_length goes with context 'rag' only")
    days = entry.get("expire_days")
    never = days == "never"
    if not never and days is not None and (isinstance(days, bool) or not isinstance(days, int) or days < 1):
        raise InvalidConfig(f"{where}: expire_days is a whole number of at least 1, or never, not {days!r}")
    below = _number(entry, "expire_below", 0.0, 1.0, where)
    half_life = _number(entry, "half_life_days", 1.0, 36_500.0, where)
    return Category(name, context == "all", length, None if never else days, below, half_life, never)


def _number(entry: Mapping[str, Any], key: str, least: float, most: float, where: str) -> float | None:
    """Read a number of a category's policy. Raises InvalidConfig."""
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise InvalidConfig(f"{where}: {key} is a number from {least:g} to {most:g}, not {value!r}")
    return float(value)


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidConfig(f"{where}: a category name is a non-empty text, not {value!r}")
    return value


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidConfig(f"{where} must be a mapping, not {value!r}")
    return value


def _sequence(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidConfig(f"{where} must be a list, not {value!r}")
    return list(value)
