"""mem0's clients on memwarden: the same calls, arguments and answers.

>>> from memwarden.compat.mem0 import Memory  # from mem0 import Memory
>>> memory = Memory()
>>> memory.add("I am allergic to peanuts.", user_id="ana")
>>> memory.search("What can't I eat?", filters={"user_id": "ana"})["results"]

``MemoryClient`` is the same over HTTP, for a server of memwarden.
"""

from memwarden.compat.mem0.client import AsyncMem0Client as AsyncMemory
from memwarden.compat.mem0.client import Mem0Client as Memory
from memwarden.compat.mem0.hosted import AsyncHostedClient as AsyncMemoryClient
from memwarden.compat.mem0.hosted import HostedClient as MemoryClient

__all__ = ["AsyncMemory", "AsyncMemoryClient", "Memory", "MemoryClient"]
