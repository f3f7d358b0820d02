-- Saved states of agents (memwarden.stores.checkpoints), beside the memories of a namespace and outside its journal.
-- No row of the namespace is locked for one, and a namespace that has nothing else has none.

CREATE TABLE memwarden.checkpoints (
    tenant        text COLLATE "C" NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    thread_id     text COLLATE "C" NOT NULL,
    checkpoint_ns text COLLATE "C" NOT NULL,  -- the subgraph, with the id of the task that ran it; '' is the graph itself
    checkpoint_id text COLLATE "C" NOT NULL,
    parent_id     text COLLATE "C",
    agent         text COLLATE "C" NOT NULL,  -- the subgraph's name without ids
    run_id        text COLLATE "C",
    channels      text[] NOT NULL,  -- of the values that lie apart
    versions      text[] NOT NULL,
    small         text[] NOT NULL,  -- channels of the values that are in data
    metadata      jsonb NOT NULL,
    kind          text NOT NULL,    -- how data is to be read
    data          bytea NOT NULL,
    shown         text NOT NULL,    -- JSON object: the small values, for the view below
    PRIMARY KEY (tenant, namespace, thread_id, checkpoint_ns, checkpoint_id)
);

CREATE INDEX checkpoints_by_id
    ON memwarden.checkpoints (tenant, namespace, checkpoint_id, thread_id, checkpoint_ns);
CREATE INDEX checkpoints_by_run ON memwarden.checkpoints (tenant, namespace, run_id) WHERE run_id IS NOT NULL;

CREATE TABLE memwarden.checkpoint_blobs (
    tenant        text COLLATE "C" NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    thread_id     text COLLATE "C" NOT NULL,
    checkpoint_ns text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    version       text COLLATE "C" NOT NULL,
    kind          text NOT NULL,
    data          bytea NOT NULL,
    shown         text,             -- the value as JSON, for the view below
    PRIMARY KEY (tenant, namespace, thread_id, checkpoint_ns, channel, version)
);

CREATE TABLE memwarden.checkpoint_writes (
    tenant        text COLLATE "C" NOT NULL,
    namespace     text COLLATE "C" NOT NULL,
    thread_id     text COLLATE "C" NOT NULL,
    checkpoint_ns text COLLATE "C" NOT NULL,
    checkpoint_id text COLLATE "C" NOT NULL,
    task_id       text COLLATE "C" NOT NULL,
    idx           bigint NOT NULL,
    task_path     text COLLATE "C" NOT NULL,
    channel       text COLLATE "C" NOT NULL,
    kind          text NOT NULL,
    data          bytea NOT NULL,
    PRIMARY KEY (tenant, namespace, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

-- One row for each thread that has a checkpoint: who was active last.
CREATE TABLE memwarden.checkpoint_threads (
    tenant     text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    thread_id  text COLLATE "C" NOT NULL,
    id         uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, namespace, thread_id)
);

CREATE INDEX checkpoint_threads_by_time ON memwarden.checkpoint_threads (tenant, namespace, updated_at DESC);

-- What each checkpoint holds, as one JSON object. Who reads the views is held to the rows that he may see himself.
CREATE VIEW memwarden.checkpoint_states WITH (security_invoker = true) AS
    SELECT c.tenant, c.namespace, c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.agent,
        c.shown::jsonb || coalesce((
            SELECT jsonb_object_agg(b.channel, b.shown::jsonb)
            FROM memwarden.checkpoint_blobs b
            WHERE b.tenant = c.tenant AND b.namespace = c.namespace
                AND b.thread_id = c.thread_id AND b.checkpoint_ns = c.checkpoint_ns
                AND (b.channel, b.version) IN (
                    SELECT link.channel, link.version FROM unnest(c.channels, c.versions) AS link (channel, version))
        ), '{}') AS state
    FROM memwarden.checkpoints c;

-- Design B's table (B15), as a view: the latest state of the graph, and of each of its subgraphs by name.
CREATE VIEW memwarden.supervisor_checkpoints WITH (security_invoker = true) AS
    SELECT t.id, t.tenant, t.namespace,
        CASE WHEN t.namespace LIKE 'user/%' THEN substr(t.namespace, 6) END AS user_id, t.thread_id,
        jsonb_build_object(
            'checkpoint_id', root.checkpoint_id,
            'graph_state', coalesce(root.state, '{}'),
            'memory_context', root.state -> 'memory_context',
            'conversation', root.state -> 'messages',
            'agent_states', coalesce((
                SELECT jsonb_object_agg(last.agent, s.state)
                FROM (
                    SELECT DISTINCT ON (agent) agent, checkpoint_ns, checkpoint_id FROM memwarden.checkpoints c
                    WHERE c.tenant = t.tenant AND c.namespace = t.namespace AND c.thread_id = t.thread_id
                        AND agent <> ''
                    ORDER BY agent, checkpoint_id DESC
                ) last JOIN memwarden.checkpoint_states s ON s.tenant = t.tenant AND s.namespace = t.namespace
                    AND s.thread_id = t.thread_id AND s.checkpoint_ns = last.checkpoint_ns
                    AND s.checkpoint_id = last.checkpoint_id
            ), '{}')
        ) AS checkpoint_data,
        t.created_at, t.updated_at
    FROM memwarden.checkpoint_threads t
    LEFT JOIN LATERAL (
        SELECT s.checkpoint_id, s.state FROM memwarden.checkpoint_states s
        WHERE s.tenant = t.tenant AND s.namespace = t.namespace AND s.thread_id = t.thread_id AND s.checkpoint_ns = ''
        ORDER BY s.checkpoint_id DESC LIMIT 1
    ) root ON true;

-- The second wall, as of the first schema.
DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'checkpoint_threads'] LOOP
        EXECUTE format('ALTER TABLE memwarden.%I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE memwarden.%I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format(
            'CREATE POLICY one_namespace ON memwarden.%I USING ('
            'tenant = nullif(current_setting(''memwarden.tenant'', true), '''') AND '
            'namespace = nullif(current_setting(''memwarden.namespace'', true), ''''))', one);
    END LOOP;
END
$$;

-- States of agents are replaced and thrown away all the time, so the role may remove them, unlike memories.
GRANT SELECT, INSERT, UPDATE, DELETE
    ON memwarden.checkpoints, memwarden.checkpoint_blobs, memwarden.checkpoint_writes, memwarden.checkpoint_threads
    TO memwarden_app;
GRANT SELECT ON memwarden.checkpoint_states, memwarden.supervisor_checkpoints TO memwarden_app;

-- Statistics of these tables too (0001).
CREATE OR REPLACE FUNCTION memwarden.gather_statistics() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    doubled boolean;
BEGIN
    SELECT bool_or(pg_relation_size(oid) / current_setting('block_size')::bigint > 2 * relpages + 50) INTO doubled
        FROM pg_class WHERE relnamespace = 'memwarden'::regnamespace AND relkind = 'r';
    IF doubled THEN  -- what somebody else is at already is left to him
        ANALYZE (SKIP_LOCKED) memwarden.namespaces, memwarden.memories, memwarden.signals, memwarden.versions,
            memwarden.journal, memwarden.relations, memwarden.receipts, memwarden.checkpoints,
            memwarden.checkpoint_blobs, memwarden.checkpoint_writes, memwarden.checkpoint_threads, memwarden.events;
    END IF;
    RETURN doubled;
END
$$;
