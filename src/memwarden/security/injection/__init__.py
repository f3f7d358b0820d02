"""Finds orders to an assistant in texts that nobody vouches for."""

from memwarden.security.injection.detector import Suspicion, find_suspicion, redact_for_prompt

__all__ = ["Suspicion", "find_suspicion", "redact_for_prompt"]
