-- Saved states of agents (memwarden.stores.checkpoints), beside the memories of a namespace and outside its journal.
--
-- WITHOUT ROWID: each table is one tree, so that a checkpoint writes few pages. What is read seldom comes last, since
-- SQLite does not read the pages of columns that nobody asked for.
CREATE TABLE checkpoints (
    ns            INTEGER NOT NULL,
    thread_id     TEXT    NOT NULL,
    checkpoint_ns TEXT    NOT NULL,  -- the subgraph, with the id of the task that ran it; '' is the graph itself
    checkpoint_id TEXT    NOT NULL,
    parent_id     TEXT,
    agent         TEXT    NOT NULL,  -- the subgraph's name without ids
    run_id        TEXT,
    links         TEXT    NOT NULL,  -- JSON: [[channel, version], ...] of the values that lie apart
    small         TEXT    NOT NULL,  -- JSON: [channel, ...] of the values that are in data
    metadata      TEXT    NOT NULL,  -- JSON object
    kind          TEXT    NOT NULL,  -- how data is to be read
    data          BLOB    NOT NULL,
    shown         TEXT    NOT NULL,  -- JSON object: the small values, for the view below
    PRIMARY KEY (ns, thread_id, checkpoint_ns, checkpoint_id)
) WITHOUT ROWID;

CREATE INDEX checkpoints_by_id ON checkpoints (ns, checkpoint_id);
CREATE INDEX checkpoints_by_run ON checkpoints (ns, run_id) WHERE run_id IS NOT NULL;

CREATE TABLE checkpoint_blobs (
    ns            INTEGER NOT NULL,
    thread_id     TEXT    NOT NULL,
    checkpoint_ns TEXT    NOT NULL,
    channel       TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    data          BLOB    NOT NULL,
    shown         TEXT,              -- the value as JSON, for the view below
    PRIMARY KEY (ns, thread_id, checkpoint_ns, channel, version)
) WITHOUT ROWID;

CREATE TABLE checkpoint_writes (
    ns            INTEGER NOT NULL,
    thread_id     TEXT    NOT NULL,
    checkpoint_ns TEXT    NOT NULL,
    checkpoint_id TEXT    NOT NULL,
    task_id       TEXT    NOT NULL,
    idx           INTEGER NOT NULL,
    task_path     TEXT    NOT NULL,
    channel       TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    data          BLOB    NOT NULL,
    PRIMARY KEY (ns, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
) WITHOUT ROWID;

-- One row for each thread that has a checkpoint: who was active last.
CREATE TABLE checkpoint_threads (
    ns         INTEGER NOT NULL,
    thread_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;

CREATE INDEX checkpoint_threads_by_time ON checkpoint_threads (ns, updated_at DESC);

-- What each checkpoint holds, as one JSON object.
CREATE VIEW checkpoint_states AS
    SELECT c.ns, c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.agent,
        substr(c.shown, 1, length(c.shown) - 1) || coalesce(
            CASE c.shown WHEN '{}' THEN '' ELSE ',' END || (
                SELECT group_concat(json_quote(b.channel) || ':' || coalesce(b.shown, 'null'))
                FROM json_each(c.links) link JOIN checkpoint_blobs b ON b.ns = c.ns AND b.thread_id = c.thread_id
                    AND b.checkpoint_ns = c.checkpoint_ns
                    AND b.channel = json_extract(link.value, '$[0]') AND b.version = json_extract(link.value, '$[1]')
            ), '') || '}' AS state
    FROM checkpoints c;

-- Design B's table (B15), as a view: the latest state of the graph, and of each of its subgraphs by name.
CREATE VIEW supervisor_checkpoints AS
    SELECT t.id, n.tenant, n.path AS namespace,
        CASE WHEN n.path LIKE 'user/%' THEN substr(n.path, 6) END AS user_id, t.thread_id,
        json_object(
            'checkpoint_id', root.checkpoint_id,
            'graph_state', json(coalesce(root.state, '{}')),
            'memory_context', json(json_quote(json_extract(root.state, '$.memory_context'))),
            'conversation', json(json_quote(json_extract(root.state, '$.messages'))),
            'agent_states', json((
                SELECT json_group_object(s.agent, json(s.state))
                FROM (
                    SELECT checkpoint_ns, max(checkpoint_id) AS checkpoint_id FROM checkpoints
                    WHERE ns = t.ns AND thread_id = t.thread_id AND agent <> '' GROUP BY agent
                ) last JOIN checkpoint_states s ON s.ns = t.ns AND s.thread_id = t.thread_id
                    AND s.checkpoint_ns = last.checkpoint_ns AND s.checkpoint_id = last.checkpoint_id
            ))
        ) AS checkpoint_data,
        t.created_at, t.updated_at
    FROM checkpoint_threads t
    JOIN namespaces n ON n.no = t.ns
    LEFT JOIN checkpoint_states root ON root.ns = t.ns AND root.thread_id = t.thread_id AND root.checkpoint_ns = ''
        AND root.checkpoint_id = (
            SELECT max(checkpoint_id) FROM checkpoints
            WHERE ns = t.ns AND thread_id = t.thread_id AND checkpoint_ns = ''
        );
