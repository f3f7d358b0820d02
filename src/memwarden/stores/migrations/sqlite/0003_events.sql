-- Operational events (B14): what was done, without content. A stream beside the journal, written in batches of its own.

-- In the order of time within a namespace, which is how they are read and removed. Names as text: also a namespace that
-- was only asked about has events. id is a UUIDv7.
CREATE TABLE events (
    tenant    TEXT    NOT NULL,
    namespace TEXT    NOT NULL,
    ts        INTEGER NOT NULL,
    id        TEXT    NOT NULL,
    node      TEXT    NOT NULL,
    op        TEXT    NOT NULL,
    status    TEXT    NOT NULL,
    user_id   TEXT,
    agent_id  TEXT,
    thread_id TEXT,
    memory_id TEXT,
    category  TEXT,
    sim       REAL,
    rev       INTEGER,
    ms        REAL,
    count     INTEGER NOT NULL,
    reason    TEXT    NOT NULL,
    PRIMARY KEY (tenant, namespace, ts, id)
) WITHOUT ROWID;
