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
    at          INTEGER NOT NULL,
    PRIMARY KEY (ns, seq)
) WITHOUT ROWID;
INSERT INTO "journal" VALUES(1,1,'ADD','01a201f4-620d-7521-8aa2-6c4e0745c146',NULL,1,'ann','t1',1795329122828998);
INSERT INTO "journal" VALUES(1,2,'ADD','01a201f4-620d-7521-8aa2-6c4f583234bd',NULL,1,'ann','t1',1795329122828998);
INSERT INTO "journal" VALUES(1,3,'ADD','01a201f4-6217-71b8-b4ec-903d75662dc0',NULL,1,'ann','t1',1795329122838955);
INSERT INTO "journal" VALUES(1,4,'ADD','01a201f4-621a-7744-8408-27122ae3eff9',NULL,1,'ann','t1',1795329122842664);
INSERT INTO "journal" VALUES(1,5,'ADD','01a201f4-621e-77c0-a7f9-6407578b574a',NULL,1,'ann','t1',1795329122846563);
INSERT INTO "journal" VALUES(1,6,'DELETE','01a201f4-621e-77c0-a7f9-6407578b574a',1,NULL,'ann','t1',1795329122848691);
INSERT INTO "journal" VALUES(1,7,'ADD','01a201f4-6226-774f-ad57-c8167a2ee8be',NULL,1,'ann','t1',1795329122854677);
INSERT INTO "journal" VALUES(1,8,'UPDATE','01a201f4-6217-71b8-b4ec-903d75662dc0',1,2,'ann','t1',1795329122862980);
INSERT INTO "journal" VALUES(2,1,'ADD','01a201f4-6234-77f2-a8ed-256088265a1a',NULL,1,'ann','t1',1795329122868573);
INSERT INTO "journal" VALUES(2,2,'ADD','01a201f4-6234-77f2-a8ed-2561f5d4acb3',NULL,1,'ann','t1',1795329122868573);
INSERT INTO "journal" VALUES(2,3,'ADD','01a201f4-6238-7492-bfbf-0fb3014eb29c',NULL,1,'ann','t1',1795329122872837);
INSERT INTO "journal" VALUES(2,4,'ADD','01a201f4-623b-74f5-88b0-e46f37f970e5',NULL,1,'ann','t1',1795329122875181);
INSERT INTO "journal" VALUES(2,5,'ADD','01a201f4-623d-71d4-a62c-55be6379dd93',NULL,1,'ann','t1',1795329122877033);
INSERT INTO "journal" VALUES(2,6,'DELETE','01a201f4-623d-71d4-a62c-55be6379dd93',1,NULL,'ann','t1',1795329122878904);
INSERT INTO "journal" VALUES(2,7,'ADD','01a201f4-6240-7079-9014-2d1fc4eade22',NULL,1,'ann','t1',1795329122880134);
INSERT INTO "journal" VALUES(2,8,'UPDATE','01a201f4-6238-7492-bfbf-0fb3014eb29c',1,2,'ann','t1',1795329122881994);
CREATE TABLE memories (
    row        INTEGER PRIMARY KEY,
    ns         INTEGER NOT NULL,
    rev        INTEGER NOT NULL,  -- journal entry that last changed this row
    version    INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    source_key TEXT,              -- thread and source key at creation, in one (memwarden.stores.sqlite.rows.once)
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
INSERT INTO "memories" VALUES(4294967297,1,1,1,'active','01a201f4-620d-7521-8aa2-6c4e0745c146','2:t1id:m1',1795329122828998,1795329122828998,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m1"
]','user',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'I moved to Lisbon in May 2023.');
INSERT INTO "memories" VALUES(4294967298,1,2,1,'active','01a201f4-620d-7521-8aa2-6c4f583234bd','2:t1id:m2',1795329122828998,1795329122828998,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m2"
]','assistant',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'How is it?');
INSERT INTO "memories" VALUES(4294967299,1,8,2,'active','01a201f4-6217-71b8-b4ec-903d75662dc0',NULL,1795329122838955,1795329122838955,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana lives in Lisbon. Since May.');
INSERT INTO "memories" VALUES(4294967300,1,4,1,'active','01a201f4-621a-7744-8408-27122ae3eff9',NULL,1795329122842664,1795329122842664,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana has a cat named Żółć.');
INSERT INTO "memories" VALUES(4294967301,1,6,1,'soft_deleted','01a201f4-621e-77c0-a7f9-6407578b574a',NULL,1795329122846563,1795329122846563,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana has a red bike.');
INSERT INTO "memories" VALUES(4294967302,1,7,1,'active','01a201f4-6226-774f-ad57-c8167a2ee8be',NULL,1795329122854677,1795329122854677,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana plays chess on Fridays.');
INSERT INTO "memories" VALUES(8589934593,2,1,1,'active','01a201f4-6234-77f2-a8ed-256088265a1a','2:t1id:m1',1795329122868573,1795329122868573,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m1"
]','user',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'I moved to Lisbon in May 2023.');
INSERT INTO "memories" VALUES(8589934594,2,2,1,'active','01a201f4-6234-77f2-a8ed-2561f5d4acb3','2:t1id:m2',1795329122868573,1795329122868573,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"m2"
]','assistant',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'How is it?');
INSERT INTO "memories" VALUES(8589934595,2,8,2,'active','01a201f4-6238-7492-bfbf-0fb3014eb29c',NULL,1795329122872837,1795329122872837,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom lives in Lisbon. Since May.');
INSERT INTO "memories" VALUES(8589934596,2,4,1,'active','01a201f4-623b-74f5-88b0-e46f37f970e5',NULL,1795329122875181,1795329122875181,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom has a cat named Żółć.');
INSERT INTO "memories" VALUES(8589934597,2,6,1,'soft_deleted','01a201f4-623d-71d4-a62c-55be6379dd93',NULL,1795329122877033,1795329122877033,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom has a red bike.');
INSERT INTO "memories" VALUES(8589934598,2,7,1,'active','01a201f4-6240-7079-9014-2d1fc4eade22',NULL,1795329122880134,1795329122880134,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom plays chess on Fridays.');
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('model','none');
INSERT INTO "meta" VALUES('schema',1);
CREATE TABLE namespaces (
    no     INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT    NOT NULL,
    path   TEXT    NOT NULL,
    rev    INTEGER NOT NULL,  -- sequence number of the last journal entry
    epoch  INTEGER NOT NULL,  -- changes when caches of this namespace must be thrown away
    rows   INTEGER NOT NULL,  -- how many rows were ever inserted: the last n given out
    UNIQUE (tenant, path)
);
INSERT INTO "namespaces" VALUES(1,'default','user/ana',8,0,6);
INSERT INTO "namespaces" VALUES(2,'firm','user/tom',8,0,6);
CREATE TABLE receipts (
    ns          INTEGER NOT NULL,
    key         TEXT    NOT NULL,
    fingerprint TEXT,
    rev         INTEGER NOT NULL,
    applied     TEXT    NOT NULL,  -- JSON: [[id, outcome], ...]
    at          INTEGER NOT NULL,
    PRIMARY KEY (ns, key)
);
INSERT INTO "receipts" VALUES(1,'call-1','9243b5d8deebe5a0089461736657a3f2',2,'[["01a201f4-620d-7521-8aa2-6c4e0745c146", "created"], ["01a201f4-620d-7521-8aa2-6c4f583234bd", "created"]]',1795329122828998);
INSERT INTO "receipts" VALUES(2,'call-1','9243b5d8deebe5a0089461736657a3f2',2,'[["01a201f4-6234-77f2-a8ed-256088265a1a", "created"], ["01a201f4-6234-77f2-a8ed-2561f5d4acb3", "created"]]',1795329122868573);
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
INSERT INTO "signals" VALUES(4294967299,0,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967300,0,X'E26F9F77A8435E9E067E235EA6766F5C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967301,0,X'E26F9F778F5F61FA8037BC4C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(4294967302,1,X'E26F9F77BADE895E1426206540B6B2B0',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934593,1,X'78373EEFB5506020C13FAD0D',NULL,X'164C0000344C0000',NULL);
INSERT INTO "signals" VALUES(8589934594,6,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934595,0,X'',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934596,0,X'1373DF7DA8435E9E067E235EA6766F5C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934597,0,X'1373DF7D8F5F61FA8037BC4C',NULL,X'',NULL);
INSERT INTO "signals" VALUES(8589934598,1,X'1373DF7DBADE895E1426206540B6B2B0',NULL,X'',NULL);
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
INSERT INTO "versions" VALUES(4294967299,1,1795329122838955,1795329122838955,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'ana lives in Lisbon.');
INSERT INTO "versions" VALUES(8589934595,1,1795329122872837,1795329122872837,'semantic','note','profile',0.8,0,'[
"home",
"a \"quoted\" tag"
]','[]',NULL,'[
"m1"
]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'tom lives in Lisbon.');
CREATE UNIQUE INDEX memories_by_id ON memories (ns, id);
CREATE UNIQUE INDEX memories_by_source_key ON memories (ns, source_key) WHERE source_key IS NOT NULL;
CREATE INDEX memories_by_rev ON memories (ns, rev);
CREATE INDEX memories_by_thread ON memories (ns, thread_id) WHERE state = 'active';
CREATE INDEX memories_by_time ON memories (ns, created_at) WHERE state = 'active';
CREATE INDEX journal_by_memory ON journal (ns, memory_id);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('namespaces',2);
COMMIT;
