"""Search of large namespaces inside PostgreSQL."""
