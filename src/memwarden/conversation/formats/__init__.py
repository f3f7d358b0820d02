"""How the messages of an API are read and made, one module a form.

Pure functions on plain data: what is given is never changed, no package of an API is imported.
"""

from memwarden.conversation.formats.base import MODES, Form, Request, ToolCall
from memwarden.conversation.formats.choose import FORMS, form_of

__all__ = ["FORMS", "MODES", "Form", "Request", "ToolCall", "form_of"]
