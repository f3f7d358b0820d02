-- The first schema. Needs PostgreSQL 16 or later and no extension.
--
-- Every key begins with (tenant, namespace), no key or reference crosses a namespace, and every id is made by memwarden:
-- so a namespace can be moved, and the tables can be distributed by namespace (Citus), without a change of schema.
-- Texts compare by code point (COLLATE "C"). PostgreSQL's text cannot hold the character U+0000: it is stored as
-- U+0001 U+0002, and U+0001 as U+0001 U+0003, which keeps order and equality (memwarden.stores.postgres.rows).
-- Times are whole microseconds since 1970 UTC, as in every store: exact, and from the year 1 on.

CREATE SCHEMA memwarden;

-- Facts about the database: 'schema' (number of the last migration), 'model' (embedding model of the vectors).
CREATE TABLE memwarden.meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

-- One row per namespace and the only row that its writers share: it is locked for every batch. Room is left on its
-- pages, so that an update of the counters stays on the page and touches no index.
CREATE TABLE memwarden.namespaces (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    rev       bigint NOT NULL,  -- sequence number of the last journal entry
    epoch     bigint NOT NULL,  -- changes when caches of this namespace must be thrown away
    rows      bigint NOT NULL,  -- how many rows were ever inserted: the last n given out
    PRIMARY KEY (tenant, namespace)
) WITH (fillfactor = 50);

-- What is remembered now, and the last content of what was removed. n numbers the rows of a namespace in the order in
-- which they were first written.
CREATE TABLE memwarden.memories (
    tenant     text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    n          bigint NOT NULL,
    rev        bigint NOT NULL,  -- journal entry that last changed this row
    version    bigint NOT NULL,
    state      text COLLATE "C" NOT NULL,
    purge_at   bigint,              -- when what is not active may be removed for good
    source_key text COLLATE "C",  -- thread and source key at creation, in one (memwarden.stores.forms.once)
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    channel    text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    category   text COLLATE "C" NOT NULL,
    importance double precision NOT NULL,
    pinned     boolean NOT NULL,
    tags       text[] NOT NULL,
    characters text[] NOT NULL,
    source     text COLLATE "C",
    sources    text[] NOT NULL,
    role       text COLLATE "C",
    name       text COLLATE "C",
    user_id    text COLLATE "C",
    agent_id   text COLLATE "C",
    run_id     text COLLATE "C",
    actor_id   text COLLATE "C",
    thread_id  text COLLATE "C",
    valid_from bigint,
    valid_to   bigint,              -- true no longer since then; null: still true
    trust      text COLLATE "C" NOT NULL,  -- whose words they are
    token_cost bigint,
    summary    text,
    context    text,
    payload    text,              -- JSON, as text: json and jsonb refuse some strings that JSON allows
    text       text NOT NULL,
    escaped    boolean NOT NULL,  -- some text of this row holds U+0001, so it has to be read back
    PRIMARY KEY (tenant, namespace, id)
);

CREATE UNIQUE INDEX memories_by_n ON memwarden.memories (tenant, namespace, n);
CREATE UNIQUE INDEX memories_by_source_key ON memwarden.memories (tenant, namespace, source_key)
    WHERE source_key IS NOT NULL;
-- "What changed since" (scan).
CREATE INDEX memories_by_rev ON memwarden.memories (tenant, namespace, rev);
-- The tail of a thread, in the order of writing.
CREATE INDEX memories_by_thread ON memwarden.memories (tenant, namespace, thread_id, n) WHERE state = 'active';
-- The newest of a namespace: read backwards, in the order in which find answers.
CREATE INDEX memories_by_time ON memwarden.memories (tenant, namespace, created_at, n) WHERE state = 'active';
-- What was removed or stands apart.
CREATE INDEX memories_by_state ON memwarden.memories (tenant, namespace, state, n) WHERE state <> 'active';

-- What the index in memory is built from. Apart from the texts, so that a cold start reads little. Vectors are bytes
-- (float16, little-endian), as they were given: an index over them would have to belong to one namespace and one model.
CREATE TABLE memwarden.signals (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    n         bigint NOT NULL,
    flags     bigint NOT NULL,
    terms     bytea NOT NULL,
    vector    bytea,
    days      bytea NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces    bytea,           -- vectors of word pieces, int8, from models that give them
    PRIMARY KEY (tenant, namespace, n)
);

-- Vectors do not compress; not to try saves the time.
ALTER TABLE memwarden.signals ALTER COLUMN vector SET STORAGE EXTERNAL, ALTER COLUMN pieces SET STORAGE EXTERNAL;

-- Earlier contents of memories that were changed since. The latest content of a removed memory stays in its row.
CREATE TABLE memwarden.versions (
    tenant     text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    channel    text NOT NULL,
    kind       text NOT NULL,
    category   text NOT NULL,
    importance double precision NOT NULL,
    pinned     boolean NOT NULL,
    tags       text[] NOT NULL,
    characters text[] NOT NULL,
    source     text,
    sources    text[] NOT NULL,
    role       text,
    name       text,
    user_id    text,
    agent_id   text,
    run_id     text,
    actor_id   text,
    thread_id  text,
    valid_from bigint,
    valid_to   bigint,
    trust      text NOT NULL,
    token_cost bigint,
    summary    text,
    context    text,
    payload    text,
    text       text NOT NULL,
    escaped    boolean NOT NULL,
    PRIMARY KEY (tenant, namespace, id, version)
);

-- What happened, in order and without gaps. It names memories and versions and holds no content.
CREATE TABLE memwarden.journal (
    tenant      text COLLATE "C" NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    seq         bigint NOT NULL,
    event       text NOT NULL,
    memory_id   text COLLATE "C" NOT NULL,
    old_version bigint,
    new_version bigint,
    actor       text,
    thread_id   text COLLATE "C",
    at          bigint NOT NULL,
    channel     text COLLATE "C" NOT NULL,
    step        bigint NOT NULL,  -- seq of the first entry of the same decision, which is undone as one
    meta        text,             -- JSON: names of rules, ids, numbers
    PRIMARY KEY (tenant, namespace, seq)
);

CREATE INDEX journal_by_memory ON memwarden.journal (tenant, namespace, memory_id, seq);
-- When a thread began, and where its last turns are.
CREATE INDEX journal_by_thread ON memwarden.journal (tenant, namespace, thread_id, channel, seq)
    WHERE thread_id IS NOT NULL;

-- Edges between memories of one namespace. One that was taken away stays as a tombstone for the indexes in memory.
CREATE TABLE memwarden.relations (
    tenant     text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    from_id    text COLLATE "C" NOT NULL,
    to_id      text COLLATE "C" NOT NULL,
    type       text COLLATE "C" NOT NULL,
    strength   double precision NOT NULL,
    live       boolean NOT NULL,
    rev        bigint NOT NULL,  -- journal entry that last changed this edge
    created_at bigint NOT NULL,
    PRIMARY KEY (tenant, namespace, from_id, to_id, type)
);

CREATE INDEX relations_by_to ON memwarden.relations (tenant, namespace, to_id);
CREATE INDEX relations_by_rev ON memwarden.relations (tenant, namespace, rev);

-- Up to which revision a thread has been told what changed, and its turns have been looked through for facts.
CREATE TABLE memwarden.threads (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C" NOT NULL,
    seen      bigint,
    extracted bigint,
    PRIMARY KEY (tenant, namespace, thread_id)
);

-- Answers to batches that had an idempotency key, to be given again.
CREATE TABLE memwarden.receipts (
    tenant      text COLLATE "C" NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint text,
    rev         bigint NOT NULL,
    applied     text NOT NULL,  -- JSON: [[id, outcome], ...]
    at          bigint NOT NULL,
    PRIMARY KEY (tenant, namespace, key)
);

-- Design B's two tables (B1) and its history (B8), as views of the journal. Who reads them is held to the rows that he
-- may see himself.
CREATE VIEW memwarden.thread_revision WITH (security_invoker = true) AS
    SELECT tenant, namespace, thread_id, max(seq) AS rev
    FROM memwarden.journal WHERE thread_id IS NOT NULL GROUP BY tenant, namespace, thread_id;

CREATE VIEW memwarden.change_log WITH (security_invoker = true) AS
    SELECT tenant, namespace, seq AS id, thread_id, seq AS rev, memory_id, event, meta, at AS ts
    FROM memwarden.journal;

CREATE VIEW memwarden.history WITH (security_invoker = true) AS
    SELECT tenant, namespace, seq AS id, memory_id, event, old_version AS old_ref, new_version AS new_ref, actor, meta,
        at AS ts
    FROM memwarden.journal;

-- The second wall: rows of one namespace at a time, for everybody (FORCE: the owner too). The two settings are made
-- with set_config(..., true) at the begin of every transaction. Unset they are NULL, and '' after such a transaction:
-- both show nothing.
DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY[
        'namespaces', 'memories', 'signals', 'versions', 'journal', 'relations', 'threads', 'receipts'
    ] LOOP
        EXECUTE format('ALTER TABLE memwarden.%I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE memwarden.%I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format(
            'CREATE POLICY one_namespace ON memwarden.%I USING ('
            'tenant = nullif(current_setting(''memwarden.tenant'', true), '''') AND '
            'namespace = nullif(current_setting(''memwarden.namespace'', true), ''''))', one);
    END LOOP;
END
$$;

-- The names of all namespaces, and nothing else, for the transaction that says that it lists them.
CREATE POLICY listing ON memwarden.namespaces FOR SELECT USING (current_setting('memwarden.listing', true) = 'on');

-- After a large import PostgreSQL knows nothing of the new rows for up to a minute, and reads a whole namespace where it
-- should look for twenty ids (12 ms instead of 0.3). So whoever has written much asks for this: statistics are gathered
-- when a table has doubled since they were gathered last. Only the owner of a table may do that; this does nothing else.
CREATE FUNCTION memwarden.gather_statistics() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    doubled boolean;
BEGIN
    SELECT bool_or(pg_relation_size(oid) / current_setting('block_size')::bigint > 2 * relpages + 50) INTO doubled
        FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r';
    IF doubled THEN  -- what somebody else is at already is left to him
        ANALYZE (SKIP_LOCKED) memwarden.namespaces, memwarden.memories, memwarden.signals, memwarden.versions,
            memwarden.journal, memwarden.relations, memwarden.receipts;
    END IF;
    RETURN doubled;
END
$$;

-- The role that every transaction takes on. It owns nothing, so no row security can be switched off by it; it deletes
-- nothing, and it changes neither the journal nor the versions once they are written.
GRANT USAGE ON SCHEMA memwarden TO memwarden_app;
GRANT SELECT, INSERT ON memwarden.meta, memwarden.versions, memwarden.journal, memwarden.receipts TO memwarden_app;
GRANT SELECT, INSERT, UPDATE
    ON memwarden.namespaces, memwarden.memories, memwarden.signals, memwarden.relations, memwarden.threads
    TO memwarden_app;
GRANT SELECT ON memwarden.thread_revision, memwarden.change_log, memwarden.history TO memwarden_app;
REVOKE ALL ON FUNCTION memwarden.gather_statistics() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memwarden.gather_statistics() TO memwarden_app;
