"""Goals that ask about the world and not about what somebody saved: definitions, conversions, verses (A1).

Words of such a goal may well stand in a key ("What is the capital of Namibia?" beside a list of countries). A goal
that says "my" or "our" is about the one who asks. The patterns stand in ``general.toml``. Pure functions.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from memwarden.agent.concepts import plain

_QUOTED: Final = re.compile(r"[\"“”«»„].*?[\"“”«»„]|(?<!\w)'[^']*'(?!\w)|‘[^’]*’(?!\w)")


def asks_generally(goal: str) -> bool:
    """Whether a goal needs nothing that its speaker saved."""
    general, own = _patterns()
    return general.search(plain(goal)) is not None and not own.search(plain(_QUOTED.sub(" ", goal)))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What shows a goal about the world, and what shows that a goal is about the one who asks."""
    listed = tomllib.loads(Path(__file__).with_name("general.toml").read_text(encoding="utf-8"))
    own = listed.pop("own")
    return re.compile("|".join(item for group in listed.values() for item in group)), re.compile("|".join(own))
