"""The store in a PostgreSQL database, through psycopg 3. Needs the extra ``memwarden[postgres]``."""

from memwarden.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
