PRAGMA application_id = 1836541042;
BEGIN TRANSACTION;
CREATE TABLE "checkpoint_blobs" (
    ns            INTEGER NOT NULL,
    thread_id     TEXT    NOT NULL,
    checkpoint_ns TEXT    NOT NULL,
    channel       TEXT    NOT NULL,
    version       TEXT    NOT NULL,
    kind          TEXT    NOT NULL,
    data          BLOB    NOT NULL,
    shown         TEXT,              -- the value as JSON, for the view below
    PRIMARY KEY (ns, thread_id, checkpoint_ns, channel, version)
);
CREATE TABLE checkpoint_threads (
    ns         INTEGER NOT NULL,
    thread_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;
CREATE TABLE "checkpoint_writes" (
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
);
CREATE TABLE "checkpoints" (
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
);
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
INSERT INTO "events" VALUES('default','user/ana',1795885987012887,'01a22325-758a-77c5-a86c-d907727b05d7','hotpath','create','ok','ana',NULL,'t',NULL,'activity',NULL,2,69.249,2,'turns');
INSERT INTO "events" VALUES('default','user/ana',1795885987142386,'01a22325-758a-77c5-a86c-d9082d5d9ad6','hotpath','create','ok','ana',NULL,'t','01a22325-74c6-70f7-9113-d362605ad02a','activity',NULL,3,129.041,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795885987160601,'01a22325-758a-77c5-a86c-d90999e65858','hotpath','update','ok','ana',NULL,'t','01a22325-74c6-70f7-9113-d362605ad02a','activity',NULL,4,17.879,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795885987172813,'01a22325-758a-77c5-a86c-d90af0a69685','hotpath','create','ok','ana',NULL,'t','01a22325-7559-77f7-b8bd-9a608f90641d','activity',NULL,5,11.898,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795885987182647,'01a22325-758a-77c5-a86c-d90bf9199164','hotpath','create','ok','ana',NULL,'t','01a22325-7565-70e0-8435-3ea649ccbdec','activity',NULL,6,9.533,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795885987188616,'01a22325-758a-77c5-a86c-d90c71e76cf5','hotpath','delete','ok','ana',NULL,'t','01a22325-7565-70e0-8435-3ea649ccbdec','activity',NULL,7,5.746,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795885987193873,'01a22325-758a-77c5-a86c-d90d794b1ccf','hotpath','create','ok','tom',NULL,'t',NULL,'activity',NULL,2,4.948,2,'turns');
INSERT INTO "events" VALUES('firm','user/tom',1795885987198398,'01a22325-758a-77c5-a86c-d90ec46d397f','hotpath','create','ok','tom',NULL,'t','01a22325-757a-7760-a4fa-f8bfeba46ae2','activity',NULL,3,4.136,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795885987202019,'01a22325-758a-77c5-a86c-d90fd7cc2f75','hotpath','update','ok','tom',NULL,'t','01a22325-757a-7760-a4fa-f8bfeba46ae2','activity',NULL,4,3.406,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795885987204976,'01a22325-758a-77c5-a86c-d910b6545ccc','hotpath','create','ok','tom',NULL,'t','01a22325-7582-7225-8d9d-b3979d8452d9','activity',NULL,5,2.787,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795885987209138,'01a22325-758a-77c5-a86c-d9115c12a722','hotpath','create','ok','tom',NULL,'t','01a22325-7585-7258-af03-c632f5303596','activity',NULL,6,3.997,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795885987210161,'01a22325-758a-77c5-a86c-d912ad85dc39','hotpath','delete','ok','tom',NULL,'t','01a22325-7585-7258-af03-c632f5303596','activity',NULL,7,0.844,1,'');
CREATE TABLE item_vectors (
    row    INTEGER NOT NULL,
    field  TEXT    NOT NULL,
    vector BLOB    NOT NULL
);
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
CREATE TABLE journal (
    ns          INTEGER NOT NULL,
    seq         INTEGER NOT NULL,
    event       TEXT    NOT NULL,
    memory_id   TEXT    NOT NULL,
    old_version INTEGER,
    new_version INTEGER,
    actor       TEXT,
    thread_id   TEXT,
    at          INTEGER NOT NULL, channel TEXT NOT NULL DEFAULT '', step INTEGER NOT NULL DEFAULT 0, meta TEXT,
    PRIMARY KEY (ns, seq)
) WITHOUT ROWID;
INSERT INTO "journal" VALUES(1,1,'ADD','01a22325-7480-7602-a204-816cb48b3c3c',NULL,1,NULL,'t',1795885986943793,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,2,'ADD','01a22325-7480-7602-a204-816da38b4b6e',NULL,1,NULL,'t',1795885986943793,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,3,'ADD','01a22325-74c6-70f7-9113-d362605ad02a',NULL,1,NULL,'t',1795885987013562,'semantic',3,NULL);
INSERT INTO "journal" VALUES(1,4,'UPDATE','01a22325-74c6-70f7-9113-d362605ad02a',1,2,NULL,'t',1795885987143298,'semantic',4,NULL);
INSERT INTO "journal" VALUES(1,5,'ADD','01a22325-7559-77f7-b8bd-9a608f90641d',NULL,1,NULL,'t',1795885987161151,'semantic',5,NULL);
INSERT INTO "journal" VALUES(1,6,'ADD','01a22325-7565-70e0-8435-3ea649ccbdec',NULL,1,NULL,'t',1795885987173325,'semantic',6,NULL);
INSERT INTO "journal" VALUES(1,7,'DELETE','01a22325-7565-70e0-8435-3ea649ccbdec',1,NULL,NULL,'t',1795885987183145,'semantic',7,NULL);
INSERT INTO "journal" VALUES(2,1,'ADD','01a22325-7575-757b-a945-33963b72f705',NULL,1,NULL,'t',1795885987189039,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,2,'ADD','01a22325-7575-757b-a945-33975f8fdddc',NULL,1,NULL,'t',1795885987189039,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,3,'ADD','01a22325-757a-7760-a4fa-f8bfeba46ae2',NULL,1,NULL,'t',1795885987194461,'semantic',3,NULL);
INSERT INTO "journal" VALUES(2,4,'UPDATE','01a22325-757a-7760-a4fa-f8bfeba46ae2',1,2,NULL,'t',1795885987198898,'semantic',4,NULL);
INSERT INTO "journal" VALUES(2,5,'ADD','01a22325-7582-7225-8d9d-b3979d8452d9',NULL,1,NULL,'t',1795885987202353,'semantic',5,NULL);
INSERT INTO "journal" VALUES(2,6,'ADD','01a22325-7585-7258-af03-c632f5303596',NULL,1,NULL,'t',1795885987205270,'semantic',6,NULL);
INSERT INTO "journal" VALUES(2,7,'DELETE','01a22325-7585-7258-af03-c632f5303596',1,NULL,NULL,'t',1795885987209534,'semantic',7,NULL);
CREATE TABLE "memories" (
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
, accessed_at INTEGER);
INSERT INTO "memories" VALUES(4294967297,1,1,1,'active','01a22325-7480-7602-a204-816cb48b3c3c','1:tid:m1',1772404200000000,1795885986943793,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m1"
]','user',NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Hello, I was in Lisbon yesterday.',NULL);
INSERT INTO "memories" VALUES(4294967298,1,2,1,'active','01a22325-7480-7602-a204-816da38b4b6e','1:tafter:the beginning:1:d13f0da7b8181c8f6f1ce0fc',1772404260000000,1795885986943793,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"01a22325-7480-7602-a204-816da38b4b6e"
]','assistant',NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'What was new?',NULL);
INSERT INTO "memories" VALUES(4294967299,1,4,2,'active','01a22325-74c6-70f7-9113-d362605ad02a',NULL,1772323200000000,1795885987143298,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Porto.',NULL);
INSERT INTO "memories" VALUES(4294967300,1,5,1,'active','01a22325-7559-77f7-b8bd-9a608f90641d',NULL,1772409600000000,1795885987161151,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana has a cat named Żółć',NULL);
INSERT INTO "memories" VALUES(4294967301,1,7,1,'soft_deleted','01a22325-7565-70e0-8435-3ea649ccbdec',NULL,1795885987173325,1795885987173325,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,1798477987183145,'person',NULL,NULL,NULL,NULL,'Ana plays chess.',NULL);
INSERT INTO "memories" VALUES(8589934593,2,1,1,'active','01a22325-7575-757b-a945-33963b72f705','1:tid:m1',1772404200000000,1795885987189039,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m1"
]','user',NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Hello, I was in Lisbon yesterday.',NULL);
INSERT INTO "memories" VALUES(8589934594,2,2,1,'active','01a22325-7575-757b-a945-33975f8fdddc','1:tafter:the beginning:1:d13f0da7b8181c8f6f1ce0fc',1772404260000000,1795885987189039,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"01a22325-7575-757b-a945-33975f8fdddc"
]','assistant',NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'What was new?',NULL);
INSERT INTO "memories" VALUES(8589934595,2,4,2,'active','01a22325-757a-7760-a4fa-f8bfeba46ae2',NULL,1772323200000000,1795885987198898,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Tom lives in Porto.',NULL);
INSERT INTO "memories" VALUES(8589934596,2,5,1,'active','01a22325-7582-7225-8d9d-b3979d8452d9',NULL,1772409600000000,1795885987202353,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Tom has a cat named Żółć',NULL);
INSERT INTO "memories" VALUES(8589934597,2,7,1,'soft_deleted','01a22325-7585-7258-af03-c632f5303596',NULL,1795885987205270,1795885987205270,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,1798477987209534,'person',NULL,NULL,NULL,NULL,'Tom plays chess.',NULL);
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('model','none');
INSERT INTO "meta" VALUES('schema',9);
INSERT INTO "meta" VALUES('terms',3);
CREATE TABLE namespaces (
    no     INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT    NOT NULL,
    path   TEXT    NOT NULL,
    rev    INTEGER NOT NULL,  -- sequence number of the last journal entry
    epoch  INTEGER NOT NULL,  -- changes when caches of this namespace must be thrown away
    rows   INTEGER NOT NULL,  -- how many rows were ever inserted: the last n given out
    UNIQUE (tenant, path)
);
INSERT INTO "namespaces" VALUES(1,'default','user/ana',7,0,5);
INSERT INTO "namespaces" VALUES(2,'firm','user/tom',7,0,5);
CREATE TABLE receipts (
    ns          INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT,
    rev         INTEGER NOT NULL,
    applied     TEXT    NOT NULL,  -- JSON: [[id, outcome], ...]
    at          INTEGER NOT NULL,
    PRIMARY KEY (ns, key)
);
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
CREATE TABLE signals (
    row    INTEGER PRIMARY KEY,
    flags  INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    vector BLOB,
    days   BLOB    NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces BLOB               -- vectors of word pieces, int8, from models that give them
, statements BLOB);
INSERT INTO "signals" VALUES(4294967297,1,X'86A61036B5506020362A3465',NULL,X'2050000020500000',NULL,NULL);
INSERT INTO "signals" VALUES(4294967298,10,X'4544E36B',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967299,0,X'E26F9F77AF2C0F53828C9E1D5E7E34DD',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967300,0,X'E26F9F77A8435E1E067E235EA6766F5C87CCE0F1',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967301,0,X'E26F9F77BADE895E14262065471CE4B0',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934593,1,X'86A61036B5506020362A3465',NULL,X'2050000020500000',NULL,NULL);
INSERT INTO "signals" VALUES(8589934594,10,X'4544E36B',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934595,0,X'1373DF7DAF2C0F53828C9E1D5E7E34DD',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934596,0,X'1373DF7DA8435E1E067E235EA6766F5C87CCE0F1',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934597,0,X'1373DF7DBADE895E14262065471CE4B0',NULL,X'',NULL,NULL);
CREATE TABLE threads (
    ns        INTEGER NOT NULL,
    thread_id TEXT    NOT NULL,
    seen      INTEGER,
    extracted INTEGER,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;
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
    text       TEXT    NOT NULL, valid_to INTEGER, trust TEXT NOT NULL DEFAULT 'person',
    PRIMARY KEY (row, version)
);
INSERT INTO "versions" VALUES(4294967299,1,1772323200000000,1795885987013562,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,'person');
INSERT INTO "versions" VALUES(8589934595,1,1772323200000000,1795885987194461,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,NULL,NULL,'Tom lives in Lisbon.',NULL,'person');
CREATE INDEX journal_by_memory ON journal (ns, memory_id);
CREATE UNIQUE INDEX memories_by_id ON memories (ns, id);
CREATE UNIQUE INDEX memories_by_source_key ON memories (ns, source_key) WHERE source_key IS NOT NULL;
CREATE INDEX memories_by_rev ON memories (ns, rev);
CREATE INDEX memories_by_thread ON memories (ns, thread_id) WHERE state = 'active';
CREATE INDEX memories_by_time ON memories (ns, created_at) WHERE state = 'active';
CREATE INDEX journal_by_thread ON journal (ns, thread_id, channel, seq) WHERE thread_id IS NOT NULL;
CREATE INDEX relations_by_to ON relations (ns, to_id);
CREATE INDEX relations_by_rev ON relations (ns, rev);
CREATE VIEW thread_revision AS
    SELECT n.tenant, n.path AS namespace, j.thread_id, max(j.seq) AS rev
    FROM journal j JOIN namespaces n ON n.no = j.ns WHERE j.thread_id IS NOT NULL GROUP BY j.ns, j.thread_id;
CREATE VIEW change_log AS
    SELECT n.tenant, n.path AS namespace, j.seq AS id, j.thread_id, j.seq AS rev, j.memory_id, j.event, j.meta,
           j.at AS ts
    FROM journal j JOIN namespaces n ON n.no = j.ns;
CREATE VIEW history AS
    SELECT n.tenant, n.path AS namespace, j.seq AS id, j.memory_id, j.event, j.old_version AS old_ref,
           j.new_version AS new_ref, j.actor, j.meta, j.at AS ts
    FROM journal j JOIN namespaces n ON n.no = j.ns;
CREATE INDEX checkpoint_threads_by_time ON checkpoint_threads (ns, updated_at DESC);
CREATE UNIQUE INDEX items_by_place ON items (ns, path, key);
CREATE INDEX items_by_time ON items (ns, path, updated_at, key, expires_at);
CREATE INDEX items_by_end ON items (ns, expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX item_vectors_by_row ON item_vectors (row);
CREATE INDEX checkpoints_by_id ON checkpoints (ns, checkpoint_id, thread_id, checkpoint_ns);
CREATE INDEX checkpoints_by_run ON checkpoints (ns, run_id) WHERE run_id IS NOT NULL;
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('namespaces',2);
COMMIT;
