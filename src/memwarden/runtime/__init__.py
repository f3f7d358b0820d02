"""State that the scopes of a warden share."""
