"""Reads and makes the messages of an API; each form is a module.

Pure functions on plain data: arguments are never changed, and no package of an API is imported.
"""

from memwarden.conversation.formats.detection import FORMATS, detect_format
from memwarden.conversation.formats.message_format import MODES, MessageFormat, Request, ToolCall

__all__ = ["FORMATS", "MODES", "MessageFormat", "Request", "ToolCall", "detect_format"]
