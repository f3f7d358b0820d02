PRAGMA application_id = 1836541042;
BEGIN TRANSACTION;
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
CREATE TABLE checkpoint_threads (
    ns         INTEGER NOT NULL,
    thread_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (ns, thread_id)
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
INSERT INTO "events" VALUES('default','user/ana',1795330883927814,'01a2020f-4212-722a-9fbd-3e2bb3472829','hotpath','create','ok','ana',NULL,'t1',NULL,'activity',NULL,2,47.841,2,'turns');
INSERT INTO "events" VALUES('default','user/ana',1795330883998882,'01a2020f-4212-722a-9fbd-3e2ca5aba19c','hotpath','create','ok','ana',NULL,'t1','01a2020f-415a-7303-a3f8-64fbce7a7a75','profile',NULL,3,70.907,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795330884066503,'01a2020f-4212-722a-9fbd-3e2da60c12ac','hotpath','create','ok','ana',NULL,'t1','01a2020f-419f-7272-bb63-8be4bae6afc4','activity',NULL,5,67.559,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795330884066522,'01a2020f-4212-722a-9fbd-3e2e8166dd5c','hotpath','link','ok','ana',NULL,'t1','01a2020f-419f-7272-bb63-8be4bae6afc4','activity',0.8732,5,67.581,1,'related_to');
INSERT INTO "events" VALUES('default','user/ana',1795330884067654,'01a2020f-4212-722a-9fbd-3e2f899a395a','hotpath','delete','ok','ana',NULL,'t1','01a2020f-419f-7272-bb63-8be4bae6afc4','activity',NULL,6,1.072,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795330884085061,'01a2020f-4212-722a-9fbd-3e30f5367a80','hotpath','create','ok','ana',NULL,'t1','01a2020f-41e4-76c8-8020-13e9d647028d','profile',NULL,9,17.38,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795330884085069,'01a2020f-4212-722a-9fbd-3e3167a47e37','hotpath','update','ok','ana',NULL,'t1','01a2020f-415a-7303-a3f8-64fbce7a7a75','profile',NULL,9,17.389,1,'superseded');
INSERT INTO "events" VALUES('default','user/ana',1795330884085076,'01a2020f-4212-722a-9fbd-3e32bb622e7b','hotpath','link','ok','ana',NULL,'t1','01a2020f-41e4-76c8-8020-13e9d647028d','profile',1.0,9,17.396,1,'supersedes');
INSERT INTO "events" VALUES('default','user/ana',1795330884090688,'01a2020f-4212-722a-9fbd-3e33e6d1f1fd','hotpath','create','ok','ana',NULL,'t1','01a2020f-41f5-728f-b089-9b09b3036722','activity',NULL,10,5.575,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795330884093680,'01a2020f-4212-722a-9fbd-3e34c70f4d17','hotpath','create','ok','tom',NULL,'t1',NULL,'activity',NULL,2,2.938,2,'turns');
INSERT INTO "events" VALUES('firm','user/tom',1795330884100198,'01a2020f-4212-722a-9fbd-3e35076ad0fc','hotpath','create','ok','tom',NULL,'t1','01a2020f-41fd-7050-87ec-5f7981c13bf3','profile',NULL,3,6.45,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795330884103480,'01a2020f-4212-722a-9fbd-3e36f349d7ea','hotpath','create','ok','tom',NULL,'t1','01a2020f-4204-7023-a8a2-0ba8e5cb5822','activity',NULL,5,3.235,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795330884103493,'01a2020f-4212-722a-9fbd-3e37141a934b','hotpath','link','ok','tom',NULL,'t1','01a2020f-4204-7023-a8a2-0ba8e5cb5822','activity',0.8732,5,3.249,1,'related_to');
INSERT INTO "events" VALUES('firm','user/tom',1795330884104271,'01a2020f-4212-722a-9fbd-3e384f8e9acb','hotpath','delete','ok','tom',NULL,'t1','01a2020f-4204-7023-a8a2-0ba8e5cb5822','activity',NULL,6,0.74,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795330884110560,'01a2020f-4212-722a-9fbd-3e3931b0219e','hotpath','create','ok','tom',NULL,'t1','01a2020f-4208-72da-9a69-aefb243754d6','profile',NULL,9,6.267,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795330884110571,'01a2020f-4212-722a-9fbd-3e3ab4ed73da','hotpath','update','ok','tom',NULL,'t1','01a2020f-41fd-7050-87ec-5f7981c13bf3','profile',NULL,9,6.28,1,'superseded');
INSERT INTO "events" VALUES('firm','user/tom',1795330884110580,'01a2020f-4212-722a-9fbd-3e3b68fbdd06','hotpath','link','ok','tom',NULL,'t1','01a2020f-4208-72da-9a69-aefb243754d6','profile',1.0,9,6.288,1,'supersedes');
INSERT INTO "events" VALUES('firm','user/tom',1795330884114547,'01a2020f-4212-722a-9fbd-3e3cf86d2fe5','hotpath','create','ok','tom',NULL,'t1','01a2020f-420e-70ae-b025-ba8f711bc96c','activity',NULL,10,3.914,1,'');
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
INSERT INTO "journal" VALUES(1,1,'ADD','01a2020f-4148-70b0-b7d5-31d2de952cda',NULL,1,'ann','t1',1795330883912604,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,2,'ADD','01a2020f-4148-70b0-b7d5-31d302977811',NULL,1,'ann','t1',1795330883912604,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,3,'ADD','01a2020f-415a-7303-a3f8-64fbce7a7a75',NULL,1,'ann','t1',1795330883928075,'semantic',3,NULL);
INSERT INTO "journal" VALUES(1,4,'ADD','01a2020f-419f-7272-bb63-8be4bae6afc4',NULL,1,'ann','t1',1795330883999036,'semantic',4,NULL);
INSERT INTO "journal" VALUES(1,5,'LINK','01a2020f-419f-7272-bb63-8be4bae6afc4',1,1,'ann','t1',1795330883999036,'semantic',4,'{"to": "01a2020f-415a-7303-a3f8-64fbce7a7a75", "type": "related_to", "strength": 0.8732}');
INSERT INTO "journal" VALUES(1,6,'DELETE','01a2020f-419f-7272-bb63-8be4bae6afc4',1,NULL,'ann','t1',1795330884066816,'semantic',6,NULL);
INSERT INTO "journal" VALUES(1,7,'ADD','01a2020f-41e4-76c8-8020-13e9d647028d',NULL,1,'ann','t1',1795330884067777,'semantic',7,NULL);
INSERT INTO "journal" VALUES(1,8,'SUPERSEDE','01a2020f-415a-7303-a3f8-64fbce7a7a75',1,2,'ann','t1',1795330884067777,'semantic',8,'{"by": "01a2020f-41e4-76c8-8020-13e9d647028d", "band": "auto", "rule": "new value"}');
INSERT INTO "journal" VALUES(1,9,'LINK','01a2020f-41e4-76c8-8020-13e9d647028d',1,1,'ann','t1',1795330884067777,'semantic',8,'{"to": "01a2020f-415a-7303-a3f8-64fbce7a7a75", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(1,10,'ADD','01a2020f-41f5-728f-b089-9b09b3036722',NULL,1,'ann','t1',1795330884085178,'semantic',10,NULL);
INSERT INTO "journal" VALUES(2,1,'ADD','01a2020f-41fb-7511-a968-d5e277ca2241',NULL,1,NULL,'t1',1795330884091186,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,2,'ADD','01a2020f-41fb-7511-a968-d5e3a355d2b8',NULL,1,NULL,'t1',1795330884091186,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,3,'ADD','01a2020f-41fd-7050-87ec-5f7981c13bf3',NULL,1,NULL,'t1',1795330884093825,'semantic',3,NULL);
INSERT INTO "journal" VALUES(2,4,'ADD','01a2020f-4204-7023-a8a2-0ba8e5cb5822',NULL,1,NULL,'t1',1795330884100337,'semantic',4,NULL);
INSERT INTO "journal" VALUES(2,5,'LINK','01a2020f-4204-7023-a8a2-0ba8e5cb5822',1,1,NULL,'t1',1795330884100337,'semantic',4,'{"to": "01a2020f-41fd-7050-87ec-5f7981c13bf3", "type": "related_to", "strength": 0.8732}');
INSERT INTO "journal" VALUES(2,6,'DELETE','01a2020f-4204-7023-a8a2-0ba8e5cb5822',1,NULL,NULL,'t1',1795330884103673,'semantic',6,NULL);
INSERT INTO "journal" VALUES(2,7,'ADD','01a2020f-4208-72da-9a69-aefb243754d6',NULL,1,NULL,'t1',1795330884104368,'semantic',7,NULL);
INSERT INTO "journal" VALUES(2,8,'SUPERSEDE','01a2020f-41fd-7050-87ec-5f7981c13bf3',1,2,NULL,'t1',1795330884104368,'semantic',8,'{"by": "01a2020f-4208-72da-9a69-aefb243754d6", "band": "auto", "rule": "new value"}');
INSERT INTO "journal" VALUES(2,9,'LINK','01a2020f-4208-72da-9a69-aefb243754d6',1,1,NULL,'t1',1795330884104368,'semantic',8,'{"to": "01a2020f-41fd-7050-87ec-5f7981c13bf3", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(2,10,'ADD','01a2020f-420e-70ae-b025-ba8f711bc96c',NULL,1,NULL,'t1',1795330884110736,'semantic',10,NULL);
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
);
INSERT INTO "memories" VALUES(4294967297,1,1,1,'active','01a2020f-4148-70b0-b7d5-31d2de952cda','2:t1id:m1',1795330883912604,1795330883912604,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m1"
]','user',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new?');
INSERT INTO "memories" VALUES(4294967298,1,2,1,'active','01a2020f-4148-70b0-b7d5-31d302977811','2:t1after:the beginning:1:d478d56ee3c5793f703c4875',1795330883912604,1795330883912604,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"01a2020f-4148-70b0-b7d5-31d302977811"
]','assistant',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'The market by the river.');
INSERT INTO "memories" VALUES(4294967299,1,8,2,'active','01a2020f-415a-7303-a3f8-64fbce7a7a75',NULL,1795330883928075,1795330884067777,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,1795330884067777,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Lisbon.');
INSERT INTO "memories" VALUES(4294967300,1,6,1,'soft_deleted','01a2020f-419f-7272-bb63-8be4bae6afc4',NULL,1795330883999036,1795330883999036,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,1797922884066816,'person',NULL,NULL,NULL,NULL,'Ana plays chess.');
INSERT INTO "memories" VALUES(4294967301,1,7,1,'active','01a2020f-41e4-76c8-8020-13e9d647028d',NULL,1795330884067777,1795330884067777,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Porto.');
INSERT INTO "memories" VALUES(4294967302,1,10,1,'active','01a2020f-41f5-728f-b089-9b09b3036722',NULL,1795330884085178,1795330884085178,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Tom has a cat named Żółć.');
INSERT INTO "memories" VALUES(8589934593,2,1,1,'active','01a2020f-41fb-7511-a968-d5e277ca2241','2:t1id:m1',1795330884091186,1795330884091186,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m1"
]','user',NULL,'tom',NULL,NULL,NULL,'t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new?');
INSERT INTO "memories" VALUES(8589934594,2,2,1,'active','01a2020f-41fb-7511-a968-d5e3a355d2b8','2:t1after:the beginning:1:d478d56ee3c5793f703c4875',1795330884091186,1795330884091186,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"01a2020f-41fb-7511-a968-d5e3a355d2b8"
]','assistant',NULL,'tom',NULL,NULL,NULL,'t1',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'The market by the river.');
INSERT INTO "memories" VALUES(8589934595,2,8,2,'active','01a2020f-41fd-7050-87ec-5f7981c13bf3',NULL,1795330884093825,1795330884104368,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t1',NULL,1795330884104368,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Lisbon.');
INSERT INTO "memories" VALUES(8589934596,2,6,1,'soft_deleted','01a2020f-4204-7023-a8a2-0ba8e5cb5822',NULL,1795330884100337,1795330884100337,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t1',NULL,NULL,1797922884103673,'person',NULL,NULL,NULL,NULL,'Ana plays chess.');
INSERT INTO "memories" VALUES(8589934597,2,7,1,'active','01a2020f-4208-72da-9a69-aefb243754d6',NULL,1795330884104368,1795330884104368,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Porto.');
INSERT INTO "memories" VALUES(8589934598,2,10,1,'active','01a2020f-420e-70ae-b025-ba8f711bc96c',NULL,1795330884110736,1795330884110736,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Tom has a cat named Żółć.');
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('model','none');
INSERT INTO "meta" VALUES('schema',4);
CREATE TABLE namespaces (
    no     INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT    NOT NULL,
    path   TEXT    NOT NULL,
    rev    INTEGER NOT NULL,  -- sequence number of the last journal entry
    epoch  INTEGER NOT NULL,  -- changes when caches of this namespace must be thrown away
    rows   INTEGER NOT NULL,  -- how many rows were ever inserted: the last n given out
    UNIQUE (tenant, path)
);
INSERT INTO "namespaces" VALUES(1,'default','user/ana',10,0,6);
INSERT INTO "namespaces" VALUES(2,'firm','user/tom',10,0,6);
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
INSERT INTO "relations" VALUES(1,'01a2020f-419f-7272-bb63-8be4bae6afc4','01a2020f-415a-7303-a3f8-64fbce7a7a75','related_to',0.8732,1,5,1795330883999036);
INSERT INTO "relations" VALUES(1,'01a2020f-41e4-76c8-8020-13e9d647028d','01a2020f-415a-7303-a3f8-64fbce7a7a75','supersedes',1.0,1,9,1795330884067777);
INSERT INTO "relations" VALUES(2,'01a2020f-4204-7023-a8a2-0ba8e5cb5822','01a2020f-41fd-7050-87ec-5f7981c13bf3','related_to',0.8732,1,5,1795330884100337);
INSERT INTO "relations" VALUES(2,'01a2020f-4208-72da-9a69-aefb243754d6','01a2020f-41fd-7050-87ec-5f7981c13bf3','supersedes',1.0,1,9,1795330884104368);
CREATE TABLE signals (
    row    INTEGER PRIMARY KEY,
    flags  INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    vector BLOB,
    days   BLOB    NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces BLOB               -- vectors of word pieces, int8, from models that give them
);
INSERT INTO "signals" VALUES(4294967297,2,X'4544E36B',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967298,0,X'CB85AC6B2B67E3F5',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967299,0,X'E26F9F77AF2C0F53B5506020',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967300,0,X'E26F9F77BADE895E14262065',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967301,0,X'E26F9F77AF2C0F53828C9E9D',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967302,0,X'1373DF7DA8435E9E067E235EA6766F5C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934593,2,X'4544E36B',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934594,0,X'CB85AC6B2B67E3F5',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934595,0,X'E26F9F77AF2C0F53B5506020',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934596,0,X'E26F9F77BADE895E14262065',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934597,0,X'E26F9F77AF2C0F53828C9E9D',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934598,0,X'1373DF7DA8435E9E067E235EA6766F5C',NULL,X'',NULL);
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
INSERT INTO "versions" VALUES(4294967299,1,1795330883928075,1795330883928075,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,'person');
INSERT INTO "versions" VALUES(8589934595,1,1795330884093825,1795330884093825,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t1',NULL,NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,'person');
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
CREATE INDEX checkpoints_by_id ON checkpoints (ns, checkpoint_id);
CREATE INDEX checkpoints_by_run ON checkpoints (ns, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX checkpoint_threads_by_time ON checkpoint_threads (ns, updated_at DESC);
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
