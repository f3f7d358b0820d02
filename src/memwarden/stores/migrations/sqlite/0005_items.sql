-- Items: JSON values under a path and a key, beside the memories; no journal, no versions (docs/why/langgraph-items.md).

CREATE TABLE items (
    row        INTEGER PRIMARY KEY,
    ns         INTEGER NOT NULL,
    path       TEXT    NOT NULL,  -- dotted labels: what is under "a" is "a" and every path that begins with "a."
    key        TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ttl        REAL,              -- minutes that it lives after it was last written or refreshed; null: for ever
    expires_at INTEGER,
    value      TEXT    NOT NULL   -- JSON
);

CREATE UNIQUE INDEX items_by_place ON items (ns, path, key);
-- The newest under a path, without reading values.
CREATE INDEX items_by_time ON items (ns, path, updated_at, key, expires_at);
CREATE INDEX items_by_end ON items (ns, expires_at) WHERE expires_at IS NOT NULL;

-- Vectors of the texts of an item's fields, float32, little-endian.
CREATE TABLE item_vectors (
    row    INTEGER NOT NULL,
    field  TEXT    NOT NULL,
    vector BLOB    NOT NULL
);

CREATE INDEX item_vectors_by_row ON item_vectors (row);
