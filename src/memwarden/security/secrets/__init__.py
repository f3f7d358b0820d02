"""Finds secrets in texts and puts marks in their places."""

from memwarden.security.secrets.redact import RedactedText, holds_home_code, redact

__all__ = ["RedactedText", "holds_home_code", "redact"]
