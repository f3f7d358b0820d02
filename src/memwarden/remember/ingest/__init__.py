"""From messages to drafts: deduplicated, stripped of own context, redacted, screened."""
