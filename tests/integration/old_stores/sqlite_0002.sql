PRAGMA application_id = 1836541042;
BEGIN TRANSACTION;
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
INSERT INTO "journal" VALUES(1,1,'ADD','01a201f4-675e-71a2-88e7-4be6c41be824',NULL,1,'ann','t1',1795329124189786,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,2,'ADD','01a201f4-6762-7057-ade8-e86891318c3c',NULL,1,'ann','t1',1795329124189786,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,3,'ADD','01a201f4-6766-7273-964b-30ba61b41e34',NULL,1,'ann','t1',1795329124198708,'semantic',3,NULL);
INSERT INTO "journal" VALUES(1,4,'ADD','01a201f4-67b8-7512-a2f8-794e5aa76389',NULL,1,'ann','t1',1795329124280624,'semantic',4,NULL);
INSERT INTO "journal" VALUES(1,5,'ADD','01a201f4-67bf-7668-9e41-21809497a16c',NULL,1,'ann','t1',1795329124287424,'semantic',5,NULL);
INSERT INTO "journal" VALUES(1,6,'DELETE','01a201f4-67bf-7668-9e41-21809497a16c',1,NULL,'ann','t1',1795329124289456,'semantic',6,NULL);
INSERT INTO "journal" VALUES(1,7,'ADD','01a201f4-67c6-72e3-8428-4fc7732bcfd6',NULL,1,'ann','t1',1795329124294607,'semantic',7,NULL);
INSERT INTO "journal" VALUES(1,8,'ADD','01a201f4-67c8-7761-b18c-fc84b0226278',NULL,1,'ann','t1',1795329124296561,'semantic',8,NULL);
INSERT INTO "journal" VALUES(1,9,'SUPERSEDE','01a201f4-6766-7273-964b-30ba61b41e34',1,2,'ann','t1',1795329124296561,'semantic',9,'{"by": "01a201f4-67c8-7761-b18c-fc84b0226278", "band": "auto", "rule": "new value"}');
INSERT INTO "journal" VALUES(1,10,'LINK','01a201f4-67c8-7761-b18c-fc84b0226278',1,1,'ann','t1',1795329124296561,'semantic',9,'{"to": "01a201f4-6766-7273-964b-30ba61b41e34", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(1,11,'UPDATE','01a201f4-67c8-7761-b18c-fc84b0226278',1,2,'ann','t1',1795329124395129,'semantic',11,NULL);
INSERT INTO "journal" VALUES(1,12,'UPDATE','01a201f4-67c8-7761-b18c-fc84b0226278',2,3,'ann','t1',1795329124398703,'semantic',12,NULL);
INSERT INTO "journal" VALUES(1,13,'RESTORE','01a201f4-67c8-7761-b18c-fc84b0226278',3,4,'ann','t1',1795329124400084,'semantic',13,'{"undoes": 12, "content_of": 2}');
INSERT INTO "journal" VALUES(1,14,'PROPOSE','user-context.01a201f4-68ce-71fc-acec-3b73c665d396',NULL,NULL,'ann','t1',1795329124555702,'state',14,'{"field": "preferred_name", "signals": 0}');
INSERT INTO "journal" VALUES(1,15,'ADD','01a201f4-68e2-754f-9d5f-00c238a5f997',NULL,1,'ann','t1',1795329124578557,'turn',15,NULL);
INSERT INTO "journal" VALUES(2,1,'ADD','01a201f4-68e7-7784-afb0-94ea2ace4b6a',NULL,1,'ann','t1',1795329124582840,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,2,'ADD','01a201f4-68e7-7784-afb0-94ebb06c4442',NULL,1,'ann','t1',1795329124582840,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,3,'ADD','01a201f4-68ea-73a2-b153-cfc9ecfbc2b3',NULL,1,'ann','t1',1795329124586646,'semantic',3,NULL);
INSERT INTO "journal" VALUES(2,4,'ADD','01a201f4-68f2-7739-b435-a37e7eb1dacf',NULL,1,'ann','t1',1795329124594566,'semantic',4,NULL);
INSERT INTO "journal" VALUES(2,5,'ADD','01a201f4-68f6-7789-afef-e4a784e1c758',NULL,1,'ann','t1',1795329124598559,'semantic',5,NULL);
INSERT INTO "journal" VALUES(2,6,'DELETE','01a201f4-68f6-7789-afef-e4a784e1c758',1,NULL,'ann','t1',1795329124606759,'semantic',6,NULL);
INSERT INTO "journal" VALUES(2,7,'ADD','01a201f4-6903-707c-8eb3-a45845651bc9',NULL,1,'ann','t1',1795329124610679,'semantic',7,NULL);
INSERT INTO "journal" VALUES(2,8,'ADD','01a201f4-6906-7497-8c9e-4fda6d6d820d',NULL,1,'ann','t1',1795329124614718,'semantic',8,NULL);
INSERT INTO "journal" VALUES(2,9,'SUPERSEDE','01a201f4-68ea-73a2-b153-cfc9ecfbc2b3',1,2,'ann','t1',1795329124614718,'semantic',9,'{"by": "01a201f4-6906-7497-8c9e-4fda6d6d820d", "band": "auto", "rule": "new value"}');
INSERT INTO "journal" VALUES(2,10,'LINK','01a201f4-6906-7497-8c9e-4fda6d6d820d',1,1,'ann','t1',1795329124614718,'semantic',9,'{"to": "01a201f4-68ea-73a2-b153-cfc9ecfbc2b3", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(2,11,'UPDATE','01a201f4-6906-7497-8c9e-4fda6d6d820d',1,2,'ann','t1',1795329124626833,'semantic',11,NULL);
INSERT INTO "journal" VALUES(2,12,'UPDATE','01a201f4-6906-7497-8c9e-4fda6d6d820d',2,3,'ann','t1',1795329124630608,'semantic',12,NULL);
INSERT INTO "journal" VALUES(2,13,'RESTORE','01a201f4-6906-7497-8c9e-4fda6d6d820d',3,4,'ann','t1',1795329124634792,'semantic',13,'{"undoes": 12, "content_of": 2}');
INSERT INTO "journal" VALUES(2,14,'PROPOSE','user-context.01a201f4-691f-7637-b9d1-6e6fe6796283',NULL,NULL,'ann','t1',1795329124638932,'state',14,'{"field": "preferred_name", "signals": 0}');
INSERT INTO "journal" VALUES(2,15,'ADD','01a201f4-6929-7588-a04a-8ea9e2d0c6ce',NULL,1,'ann','t1',1795329124649806,'turn',15,NULL);
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
INSERT INTO "memories" VALUES(4294967297,1,1,1,'active','01a201f4-675e-71a2-88e7-4be6c41be824','2:t1id:m1',1795329124189786,1795329124189786,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m1"
]','user',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'I moved to Lisbon in May 2023.');
INSERT INTO "memories" VALUES(4294967298,1,2,1,'active','01a201f4-6762-7057-ade8-e86891318c3c','2:t1id:m2',1795329124189786,1795329124189786,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m2"
]','assistant',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'How is it?');
INSERT INTO "memories" VALUES(4294967299,1,9,2,'active','01a201f4-6766-7273-964b-30ba61b41e34',NULL,1795329124198708,1795329124296561,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,1795329124296561,NULL,'person',NULL,NULL,NULL,NULL,'ana lives in Lisbon.');
INSERT INTO "memories" VALUES(4294967300,1,4,1,'active','01a201f4-67b8-7512-a2f8-794e5aa76389',NULL,1795329124280624,1795329124280624,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'ana has a cat named Żółć.');
INSERT INTO "memories" VALUES(4294967301,1,6,1,'soft_deleted','01a201f4-67bf-7668-9e41-21809497a16c',NULL,1795329124287424,1795329124287424,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,1797921124289456,'person',NULL,NULL,NULL,NULL,'ana has a red bike.');
INSERT INTO "memories" VALUES(4294967302,1,7,1,'active','01a201f4-67c6-72e3-8428-4fc7732bcfd6',NULL,1795329124294607,1795329124294607,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'ana plays chess on Fridays.');
INSERT INTO "memories" VALUES(4294967303,1,13,4,'active','01a201f4-67c8-7761-b18c-fc84b0226278',NULL,1795329124296561,1795329124400084,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,'corrected',NULL,NULL,'ana lives in Porto now.');
INSERT INTO "memories" VALUES(4294967304,1,14,1,'proposed','user-context.01a201f4-68ce-71fc-acec-3b73c665d396',NULL,1795329124555702,1795329124555702,'state','unknown','profile',0.5,0,'[]','[]','user-context','[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,1795933924555702,'person',NULL,NULL,NULL,'{"field": "preferred_name", "value": "ana"}','preferred_name: ana');
INSERT INTO "memories" VALUES(4294967305,1,15,1,'active','01a201f4-68e2-754f-9d5f-00c238a5f997','2:t1id:m3',1795329124578557,1795329124578557,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m3"
]','user',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new?');
INSERT INTO "memories" VALUES(8589934593,2,1,1,'active','01a201f4-68e7-7784-afb0-94ea2ace4b6a','2:t1id:m1',1795329124582840,1795329124582840,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m1"
]','user',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'I moved to Lisbon in May 2023.');
INSERT INTO "memories" VALUES(8589934594,2,2,1,'active','01a201f4-68e7-7784-afb0-94ebb06c4442','2:t1id:m2',1795329124582840,1795329124582840,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m2"
]','assistant',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'How is it?');
INSERT INTO "memories" VALUES(8589934595,2,9,2,'active','01a201f4-68ea-73a2-b153-cfc9ecfbc2b3',NULL,1795329124586646,1795329124614718,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,1795329124614718,NULL,'person',NULL,NULL,NULL,NULL,'tom lives in Lisbon.');
INSERT INTO "memories" VALUES(8589934596,2,4,1,'active','01a201f4-68f2-7739-b435-a37e7eb1dacf',NULL,1795329124594566,1795329124594566,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'tom has a cat named Żółć.');
INSERT INTO "memories" VALUES(8589934597,2,6,1,'soft_deleted','01a201f4-68f6-7789-afef-e4a784e1c758',NULL,1795329124598559,1795329124598559,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,1797921124606759,'person',NULL,NULL,NULL,NULL,'tom has a red bike.');
INSERT INTO "memories" VALUES(8589934598,2,7,1,'active','01a201f4-6903-707c-8eb3-a45845651bc9',NULL,1795329124610679,1795329124610679,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'tom plays chess on Fridays.');
INSERT INTO "memories" VALUES(8589934599,2,13,4,'active','01a201f4-6906-7497-8c9e-4fda6d6d820d',NULL,1795329124614718,1795329124634792,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,'corrected',NULL,NULL,'tom lives in Porto now.');
INSERT INTO "memories" VALUES(8589934600,2,14,1,'proposed','user-context.01a201f4-691f-7637-b9d1-6e6fe6796283',NULL,1795329124638932,1795329124638932,'state','unknown','profile',0.5,0,'[]','[]','user-context','[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,1795933924638932,'person',NULL,NULL,NULL,'{"field": "preferred_name", "value": "tom"}','preferred_name: tom');
INSERT INTO "memories" VALUES(8589934601,2,15,1,'active','01a201f4-6929-7588-a04a-8ea9e2d0c6ce','2:t1id:m3',1795329124649806,1795329124649806,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m3"
]','user',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new?');
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('model','none');
INSERT INTO "meta" VALUES('schema',2);
CREATE TABLE namespaces (
    no     INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT    NOT NULL,
    path   TEXT    NOT NULL,
    rev    INTEGER NOT NULL,  -- sequence number of the last journal entry
    epoch  INTEGER NOT NULL,  -- changes when caches of this namespace must be thrown away
    rows   INTEGER NOT NULL,  -- how many rows were ever inserted: the last n given out
    UNIQUE (tenant, path)
);
INSERT INTO "namespaces" VALUES(1,'default','user/ana',15,0,9);
INSERT INTO "namespaces" VALUES(2,'firm','user/tom',15,0,9);
CREATE TABLE receipts (
    ns          INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT,
    rev         INTEGER NOT NULL,
    applied     TEXT    NOT NULL,  -- JSON: [[id, outcome], ...]
    at          INTEGER NOT NULL,
    PRIMARY KEY (ns, key)
);
INSERT INTO "receipts" VALUES(1,'call-1','9243b5d8deebe5a0089461736657a3f2',2,'[["01a201f4-675e-71a2-88e7-4be6c41be824", "created", 0], ["01a201f4-6762-7057-ade8-e86891318c3c", "created", 0]]',1795329124189786);
INSERT INTO "receipts" VALUES(2,'call-1','9243b5d8deebe5a0089461736657a3f2',2,'[["01a201f4-68e7-7784-afb0-94ea2ace4b6a", "created", 0], ["01a201f4-68e7-7784-afb0-94ebb06c4442", "created", 0]]',1795329124582840);
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
INSERT INTO "relations" VALUES(1,'01a201f4-67c8-7761-b18c-fc84b0226278','01a201f4-6766-7273-964b-30ba61b41e34','supersedes',1.0,1,10,1795329124296561);
INSERT INTO "relations" VALUES(2,'01a201f4-6906-7497-8c9e-4fda6d6d820d','01a201f4-68ea-73a2-b153-cfc9ecfbc2b3','supersedes',1.0,1,10,1795329124614718);
CREATE TABLE signals (
    row    INTEGER PRIMARY KEY,
    flags  INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    vector BLOB,
    days   BLOB    NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces BLOB               -- vectors of word pieces, int8, from models that give them
);
INSERT INTO "signals" VALUES(4294967297,1,X'78373EEFB5506020C13FAD0D',NULL,X'164C0000344C0000',NULL);
INSERT INTO "signals" VALUES(4294967298,6,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967299,0,X'E26F9F77AF2C0F53B5506020',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967300,0,X'E26F9F77A8435E9E067E235EA6766F5C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967301,0,X'E26F9F778F5F61FA8037BC4C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967302,1,X'E26F9F77BADE895E1426206540B6B2B0',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967303,0,X'E26F9F77AF2C0F53828C9E9DCFAC0C91',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967304,0,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967305,2,X'4544E36B',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934593,1,X'78373EEFB5506020C13FAD0D',NULL,X'164C0000344C0000',NULL);
INSERT INTO "signals" VALUES(8589934594,6,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934595,0,X'1373DF7DAF2C0F53B5506020',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934596,0,X'1373DF7DA8435E9E067E235EA6766F5C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934597,0,X'1373DF7D8F5F61FA8037BC4C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934598,1,X'1373DF7DBADE895E1426206540B6B2B0',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934599,0,X'1373DF7DAF2C0F53828C9E9DCFAC0C91',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934600,0,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934601,2,X'4544E36B',NULL,X'',NULL);
CREATE TABLE threads (
    ns        INTEGER NOT NULL,
    thread_id TEXT    NOT NULL,
    seen      INTEGER,
    extracted INTEGER,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;
INSERT INTO "threads" VALUES(1,'t1',14,NULL);
INSERT INTO "threads" VALUES(2,'t1',14,NULL);
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
INSERT INTO "versions" VALUES(4294967299,1,1795329124198708,1795329124198708,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana lives in Lisbon.',NULL,'person');
INSERT INTO "versions" VALUES(4294967303,1,1795329124296561,1795329124296561,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana lives in Porto now.',NULL,'person');
INSERT INTO "versions" VALUES(4294967303,2,1795329124296561,1795329124395129,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,'corrected',NULL,NULL,'ana lives in Porto now.',NULL,'person');
INSERT INTO "versions" VALUES(4294967303,3,1795329124296561,1795329124398703,'semantic','note','activity',0.5,1,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,'corrected',NULL,NULL,'ana lives in Porto now.',NULL,'person');
INSERT INTO "versions" VALUES(8589934595,1,1795329124586646,1795329124586646,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom lives in Lisbon.',NULL,'person');
INSERT INTO "versions" VALUES(8589934599,1,1795329124614718,1795329124614718,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom lives in Porto now.',NULL,'person');
INSERT INTO "versions" VALUES(8589934599,2,1795329124614718,1795329124626833,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,'corrected',NULL,NULL,'tom lives in Porto now.',NULL,'person');
INSERT INTO "versions" VALUES(8589934599,3,1795329124614718,1795329124630608,'semantic','note','activity',0.5,1,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,'corrected',NULL,NULL,'tom lives in Porto now.',NULL,'person');
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('namespaces',2);
COMMIT;
