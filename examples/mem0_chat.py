"""The chat of mem0's README with the import changed. No key: a function answers in place of a model.

python examples/mem0_chat.py [URL of the store]
"""

from __future__ import annotations

import sys

from memwarden.compat.mem0 import Memory  # was: from mem0 import Memory

memory = Memory({"memwarden": {"url": sys.argv[1] if len(sys.argv) > 1 else "memory://"}})


def ask_model(system: str, message: str) -> str:
    """Answer as a model would that reads its instructions."""
    known = [line for line in system.splitlines() if line.startswith("- ")]
    return f"I know {len(known)} things about that: {' '.join(known)}" if known else "Noted."


def chat_with_memories(message: str, user_id: str = "default_user") -> str:
    relevant = memory.search(query=message, filters={"user_id": user_id}, top_k=3)
    memories = "\n".join(f"- {entry['memory']}" for entry in relevant["results"])
    system = f"You are a helpful AI. Answer based on the query and memories.\nUser Memories:\n{memories}"
    answer = ask_model(system, message)
    memory.add([{"role": "user", "content": message}], user_id=user_id)
    return answer


for said in ("I am allergic to hazelnuts.", "My sister Maria lives in Lyon.", "Which nuts am I allergic to?"):
    print(f"{said}\n  {chat_with_memories(said)}")
memory.close()
