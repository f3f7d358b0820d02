"""memwarden: the memory of LLM agents. What to load, what to keep, and why.

>>> from memwarden import Warden
>>> with Warden.open("sqlite:///notes.db") as warden:
...     me = warden.scope(user="ana", thread="t1")
...     me.observe([{"role": "user", "content": "I am allergic to peanuts."}])
...     print(me.query("What can't I eat?").text)
"""

from memwarden.api.blocking import Warden
from memwarden.api.warden import AsyncWarden
from memwarden.errors import MemwardenError
from memwarden.recall.answer.render import format_context

__version__ = "0.1.0"
__all__ = ["AsyncWarden", "MemwardenError", "Warden", "__version__", "format_context"]
