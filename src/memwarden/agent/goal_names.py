"""Adds to a goal the other names of the people that it names, from typed statements: "my sister" is Lena."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memwarden.filters import Condition
from memwarden.records import Scope, Trust
from memwarden.runtime.services import Runtime
from memwarden.text.tokenizer import words_and_forms

if TYPE_CHECKING:
    from memwarden.recall.index.columns import Mask
    from memwarden.recall.index.namespace_index import NamespaceIndex


class NamedGoal(NamedTuple):
    """A goal followed by the other names of the people in it. names: these names, in lower case."""

    text: str
    names: tuple[str, ...] = ()

    def names_anyone_in(self, text: str) -> bool:
        """Whether a text holds one of the other names."""
        words = words_and_forms(text)
        return any(words.issuperset(name.split()) for name in self.names)


async def add_other_names(runtime: Runtime, who: Scope, goal: str) -> NamedGoal:
    """Return a goal with the other names of the people in it.

    A namespace that its store searches knows none, because reading its statements takes longer than a goal may.
    """
    from memwarden.recall.answer.gates import in_categories

    keys = list_people(goal)
    index = await runtime.services.recall.open_index(who.namespace) if keys else None
    if index is None:
        return NamedGoal(goal)
    readable = runtime.settings.categories.readable(who.agent, None)
    where = (*in_categories(readable), Condition("trust", "$eq", str(Trust.PERSON)))
    names = find_other_names(index, keys, index.mask(where) & _said_by(index, who))
    return NamedGoal(f"{goal} ({', '.join(names)})", tuple(names)) if names else NamedGoal(goal)


def list_people(goal: str) -> set[str]:
    """Return the keys of the people that a goal names: "relation:sister", "name:lena"."""
    from memwarden.statements.wording import names_in, relations_in

    # The first word is the task, with a capital: "Buy", "Plan".
    _, _, behind = goal.strip().partition(" ")
    return {f"name:{name}" for name in names_in(behind)} | relations_in(goal)


def find_other_names(index: NamespaceIndex, keys: set[str], allowed: Mask) -> list[str]:
    """Return the other names and relations by which texts at allowed places call people, sorted."""
    from memwarden.statements.reader import with_other_keys

    rows = index.statements.rows_about(allowed, sorted(keys))
    others = with_other_keys(sorted(keys), [row.subjects for row in rows]) - keys
    return sorted(key.partition(":")[2] for key in others)


def _said_by(index: NamespaceIndex, who: Scope) -> Mask:
    """Return the places of the person's own words: two people have a sister each.

    The person's names are their id and the name of the only speaker.
    """
    import numpy as np

    speakers = list(index.view.speakers)
    own = {name.casefold() for name in (*(speakers if len(speakers) == 1 else ()), who.user, who.actor) if name}
    names, users = index.columns.coded["name"], index.columns.coded["user_id"]
    by_name = [code for code, name in enumerate(names.values) if name is None or name.casefold() in own]
    by_user = [code for code, user in enumerate(users.values) if user in (None, who.user)]
    return np.isin(names.codes, by_name) & np.isin(users.codes, by_user)
