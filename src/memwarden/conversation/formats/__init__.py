"""How the messages of an API are read and made, one module a form.

Pure functions on plain data: what is given is never changed, no package of an API is imported.
"""

from memwarden.conversation.formats.base import MODES, MessageFormat, Request, ToolCall
from memwarden.conversation.formats.choose import FORMATS, detect_format

__all__ = ["FORMATS", "MODES", "MessageFormat", "Request", "ToolCall", "detect_format"]
