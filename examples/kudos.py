"""The overseer at work: one goal saves a list of people, a later one gets it, and nothing else.

Run it with ``python examples/kudos.py``. No key, no network: search and rules decide. With a chat model (the setting
``chat_model``) the model is asked instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from memwarden import BoundScope, OverseerSettings, Warden

ACTIVITIES = {"getActivities": ["morning run", "evening ride"], "getActivityKudos": ["athlete_123", "athlete_456"]}
"""What the tools of this example return, where an agent of yours would call an API."""


def execute(me: BoundScope, goal: str, tools: tuple[str, ...], act: Callable[[str, dict[str, Any]], None]) -> None:
    """Run one goal as an agent does: the overseer before it, the tools, the overseer after each of them."""
    overseer = me.overseer(OverseerSettings(auto_save=True, only_tools=("getActivityKudos",)))
    prepared = overseer.prepare(goal)
    act(prepared.goal, prepared.state)
    for tool in tools:
        overseer.after(tool, ACTIVITIES[tool], goal)


def show(goal: str, state: dict[str, Any]) -> None:
    """Stands for the agent's model, which would be paid for: shows what it would be given."""
    print(f"--- The agent receives ({len(state)} saved values):\n{goal}\n")


def main(url: str = "memory://") -> None:
    """Save the list under one goal, use it under another."""
    with Warden.open(url) as warden:
        me = warden.scope(user="ana")
        me.state.save("favorite_routes", ["river loop", "hill climb"], description="where Ana likes to run")
        execute(me, "Get last week's activities and save kudos givers to memory", tuple(ACTIVITIES), show)
        print("Saved now:", [one.key for one in me.state.list_keys()], "\n")
        execute(me, "Who from my kudos list was active recently?", ("getActivities",), show)


if __name__ == "__main__":
    main(*sys.argv[1:])
