-- The first schema. Needs nothing but SQLite itself: no extension, no FTS5 (docs/why/sqlite-without-fts5.md).
--
-- Times are whole microseconds since 1970 UTC. Lists of text (tags, characters, sources) are JSON arrays with every
-- element on a line of its own: a line break cannot occur inside a JSON string, so
-- instr(tags, char(10) || '"a"') > 0 tells exactly, and without parsing, whether "a" is one of them.

-- Facts about the file: 'schema' (number of the last migration), 'model' (embedding model of the vectors).
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- One row per namespace and the only row that its writers share. AUTOINCREMENT: a number is never used again.
CREATE TABLE namespaces (
    no     INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT    NOT NULL,
    path   TEXT    NOT NULL,
    rev    INTEGER NOT NULL,  -- sequence number of the last journal entry
    epoch  INTEGER NOT NULL,  -- changes when caches of this namespace must be thrown away
    rows   INTEGER NOT NULL,  -- how many rows were ever inserted: the last n given out
    UNIQUE (tenant, path)
);

-- What is remembered now. row = namespaces.no << 32 | n, so that a namespace is one contiguous range of the file, in
-- the order of writing. The wide columns come last: SQLite does not read the pages of columns that nobody asked for.
CREATE TABLE memories (
    row        INTEGER PRIMARY KEY,
    ns         INTEGER NOT NULL,
    rev        INTEGER NOT NULL,  -- journal entry that last changed this row
    version    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    source_key TEXT,              -- thread and source key at creation, in one (memwarden.stores.forms.once)
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    channel    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    importance REAL    NOT NULL,
    pinned     INTEGER NOT NULL,
    tags       TEXT    NOT NULL,
    characters TEXT    NOT NULL,
    source     TEXT,
    sources    TEXT    NOT NULL,
    role       TEXT,
    name       TEXT,
    user_id    TEXT,
    agent_id   TEXT,
    run_id     TEXT,
    actor_id   TEXT,
    thread_id  TEXT,
    valid_from INTEGER,
    token_cost INTEGER,
    summary    TEXT,
    context    TEXT,
    payload    TEXT,
    text       TEXT    NOT NULL
);

CREATE UNIQUE INDEX memories_by_id ON memories (ns, id);
CREATE UNIQUE INDEX memories_by_source_key ON memories (ns, source_key) WHERE source_key IS NOT NULL;
-- "What changed since" (scan).
CREATE INDEX memories_by_rev ON memories (ns, rev);
-- The tail of a thread, in the order of writing (an index ends in the row id).
CREATE INDEX memories_by_thread ON memories (ns, thread_id) WHERE state = 'active';
-- The newest of a namespace: read backwards, in the order in which find answers.
CREATE INDEX memories_by_time ON memories (ns, created_at) WHERE state = 'active';

-- What the index in memory is built from. Apart from the texts, so that a cold start reads little.
CREATE TABLE signals (
    row    INTEGER PRIMARY KEY,
    flags  INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    vector BLOB,
    days   BLOB    NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces BLOB               -- vectors of word pieces, int8, from models that give them
);

-- Earlier contents of memories that were changed since. The latest content of a removed memory stays in its row.
CREATE TABLE versions (
    row        INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    channel    TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    category   TEXT    NOT NULL,
    importance REAL    NOT NULL,
    pinned     INTEGER NOT NULL,
    tags       TEXT    NOT NULL,
    characters TEXT    NOT NULL,
    source     TEXT,
    sources    TEXT    NOT NULL,
    role       TEXT,
    name       TEXT,
    user_id    TEXT,
    agent_id   TEXT,
    run_id     TEXT,
    actor_id   TEXT,
    thread_id  TEXT,
    valid_from INTEGER,
    token_cost INTEGER,
    summary    TEXT,
    context    TEXT,
    payload    TEXT,
    text       TEXT    NOT NULL,
    PRIMARY KEY (row, version)
);

-- What happened, in order and without gaps. It names memories and versions and holds no content.
CREATE TABLE journal (
    ns          INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    event       TEXT    NOT NULL,
    memory_id   TEXT    NOT NULL,
    old_version INTEGER,
    new_version INTEGER,
    actor       TEXT,
    thread_id   TEXT,
    at          INTEGER NOT NULL,
    PRIMARY KEY (ns, seq)
) WITHOUT ROWID;

CREATE INDEX journal_by_memory ON journal (ns, memory_id);

-- Answers to batches that had an idempotency key, to be given again.
CREATE TABLE receipts (
    ns          INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT,
    rev         INTEGER NOT NULL,
    applied     TEXT    NOT NULL,  -- JSON: [[id, outcome], ...]
    at          INTEGER NOT NULL,
    PRIMARY KEY (ns, key)
);
