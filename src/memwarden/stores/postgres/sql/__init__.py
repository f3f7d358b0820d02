"""The SQL of the PostgreSQL store: rows, filters, transactions, errors."""
