"""Reads and makes the messages of an API; each form is a module.

Pure functions on plain data: arguments are never changed, and no package of an API is imported.
"""

from memwarden.conversation.formats.base import MODES, MessageFormat, Request, ToolCall
from memwarden.conversation.formats.providers import FORMATS, detect_format

__all__ = ["FORMATS", "MODES", "MessageFormat", "Request", "ToolCall", "detect_format"]
