"""Two sessions of a model with Anthropic's memory tool; a script answers in place of the model, so no key is needed.

python examples/anthropic_memory_tool.py [URL of the store]
"""

from __future__ import annotations

import sys
from typing import Any

from memwarden import MemoryFolder, Warden

DIET = "/memories/diet.md"
# What a model would call, session by session.
SESSIONS: tuple[tuple[dict[str, Any], ...], ...] = (
    (
        {"command": "view", "path": "/memories"},
        {"command": "create", "path": DIET, "file_text": "Ana is allergic to peanuts.\n"},
    ),
    (
        {"command": "view", "path": DIET},
        {"command": "str_replace", "path": DIET, "old_str": "peanuts", "new_str": "peanuts and almonds"},
        {"command": "view", "path": DIET},
    ),
)

url = sys.argv[1] if len(sys.argv) > 1 else "memory://"
with Warden.open(url) as warden:
    for number, commands in enumerate(SESSIONS, 1):
        folder = MemoryFolder(warden.scope(user="ana"))
        for command in commands:
            block = {"type": "tool_use", "id": "call", "name": "memory", "input": command}
            print(f"session {number}, {command['command']}: {folder.answer_blocking(block)['content']}")
