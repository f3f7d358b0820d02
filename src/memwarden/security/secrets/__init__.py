"""Finds secrets in texts and puts marks in their places."""

from memwarden.security.secrets.redact import RedactedText, redact

__all__ = ["RedactedText", "redact"]
