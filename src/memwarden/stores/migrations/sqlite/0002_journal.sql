-- Validity, relations, and a journal that says which entries are one decision.

-- A new table, since a column that is added stands behind the wide ones: reading it would read the texts' pages.
CREATE TABLE memories_new (
    row        INTEGER PRIMARY KEY,
    ns         INTEGER NOT NULL,
    rev        INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    source_key TEXT,
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
    valid_to   INTEGER,  -- true no longer since then; null: still true
    purge_at   INTEGER,  -- when what is not active may be removed for good
    trust      TEXT    NOT NULL DEFAULT 'person',  -- whose words they are
    token_cost INTEGER,
    summary    TEXT,
    context    TEXT,
    payload    TEXT,
    text       TEXT    NOT NULL
);

INSERT INTO memories_new (
    row, ns, rev, version, state, id, source_key, created_at, updated_at, channel, kind, category, importance,
    pinned, tags, characters, source, sources, role, name, user_id, agent_id, run_id, actor_id, thread_id,
    valid_from, token_cost, summary, context, payload, text
) SELECT
    row, ns, rev, version, state, id, source_key, created_at, updated_at, channel, kind, category, importance,
    pinned, tags, characters, source, sources, role, name, user_id, agent_id, run_id, actor_id, thread_id,
    valid_from, token_cost, summary, context, payload, text
FROM memories ORDER BY row;

DROP TABLE memories;
ALTER TABLE memories_new RENAME TO memories;

CREATE UNIQUE INDEX memories_by_id ON memories (ns, id);
CREATE UNIQUE INDEX memories_by_source_key ON memories (ns, source_key) WHERE source_key IS NOT NULL;
CREATE INDEX memories_by_rev ON memories (ns, rev);
CREATE INDEX memories_by_thread ON memories (ns, thread_id) WHERE state = 'active';
CREATE INDEX memories_by_time ON memories (ns, created_at) WHERE state = 'active';

ALTER TABLE versions ADD COLUMN valid_to INTEGER;
ALTER TABLE versions ADD COLUMN trust TEXT NOT NULL DEFAULT 'person';

-- step: seq of the first entry of the same decision, which is undone as one. meta: JSON of rules, ids and numbers.
ALTER TABLE journal ADD COLUMN channel TEXT NOT NULL DEFAULT '';
ALTER TABLE journal ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN meta TEXT;
UPDATE journal SET
    step = seq,
    channel = coalesce((SELECT channel FROM memories m WHERE m.ns = journal.ns AND m.id = journal.memory_id), '');

-- When a thread began, and where its last turns are.
CREATE INDEX journal_by_thread ON journal (ns, thread_id, channel, seq) WHERE thread_id IS NOT NULL;

-- Edges between memories of one namespace. One that was taken away stays as a tombstone for the indexes in memory.
CREATE TABLE relations (
    ns         INTEGER NOT NULL,
    from_id    TEXT    NOT NULL,
    to_id      TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    strength   REAL    NOT NULL,
    live       INTEGER NOT NULL,
    rev        INTEGER NOT NULL,  -- journal entry that last changed this edge
    created_at INTEGER NOT NULL,
    PRIMARY KEY (ns, from_id, to_id, type)
) WITHOUT ROWID;

CREATE INDEX relations_by_to ON relations (ns, to_id);
CREATE INDEX relations_by_rev ON relations (ns, rev);

-- Up to which revision a thread has been told what changed, and its turns have been looked through for facts.
CREATE TABLE threads (
    ns        INTEGER NOT NULL,
    thread_id TEXT    NOT NULL,
    seen      INTEGER,
    extracted INTEGER,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;

-- Design B's two tables (B1), as views of the journal.
CREATE VIEW thread_revision AS
    SELECT n.tenant, n.path AS namespace, j.thread_id, max(j.seq) AS rev
    FROM journal j JOIN namespaces n ON n.no = j.ns WHERE j.thread_id IS NOT NULL GROUP BY j.ns, j.thread_id;

CREATE VIEW change_log AS
    SELECT n.tenant, n.path AS namespace, j.seq AS id, j.thread_id, j.seq AS rev, j.memory_id, j.event, j.meta,
           j.at AS ts
    FROM journal j JOIN namespaces n ON n.no = j.ns;

-- Design B's history (B8), as a view.
CREATE VIEW history AS
    SELECT n.tenant, n.path AS namespace, j.seq AS id, j.memory_id, j.event, j.old_version AS old_ref,
           j.new_version AS new_ref, j.actor, j.meta, j.at AS ts
    FROM journal j JOIN namespaces n ON n.no = j.ns;
