"""mem0's ``Memory`` and ``AsyncMemory`` on memwarden: the same calls, arguments and answers.

>>> from memwarden.compat.mem0 import Memory  # from mem0 import Memory
>>> memory = Memory()
>>> memory.add("I am allergic to peanuts.", user_id="ana")
>>> memory.search("What can't I eat?", filters={"user_id": "ana"})["results"]
"""

from memwarden.compat.mem0.client import AsyncMem0Client as AsyncMemory
from memwarden.compat.mem0.client import Mem0Client as Memory

__all__ = ["AsyncMemory", "Memory"]
