"""``memwarden demo``: a shipped history is observed, then asked about."""
