"""How the messages of an API are read and made, one module a form.

Pure functions on plain data: what is given is never changed, no package of an API is imported.
"""

from memwarden.turn.forms.base import MODES, Form, Request, ToolCall
from memwarden.turn.forms.choose import FORMS, form_of

__all__ = ["FORMS", "MODES", "Form", "Request", "ToolCall", "form_of"]
