"""The write path of the PostgreSQL store: queue, group commit, decisions."""
