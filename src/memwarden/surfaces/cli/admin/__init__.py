"""Commands about a store: backup, migration, health, events, settings."""
