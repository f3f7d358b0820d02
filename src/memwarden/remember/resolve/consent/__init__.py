"""The user context, and the person's consent to its changes."""
