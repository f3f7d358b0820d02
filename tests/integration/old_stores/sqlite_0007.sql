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
INSERT INTO "checkpoint_blobs" VALUES(1,'t','','a','1','msgpack',X'0061','"a"');
INSERT INTO "checkpoint_blobs" VALUES(2,'t','','a','1','msgpack',X'0061','"a"');
CREATE TABLE checkpoint_threads (
    ns         INTEGER NOT NULL,
    thread_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;
INSERT INTO "checkpoint_threads" VALUES(1,'t','01a2021c-823c-761d-a8d2-ff33c655b32b',1795331752508888,1795331752508888);
INSERT INTO "checkpoint_threads" VALUES(2,'t','01a2021c-828f-759d-a250-e6484115af3d',1795331752591073,1795331752591073);
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
INSERT INTO "checkpoint_writes" VALUES(1,'t','','1','w',0,'','a','k',X'76');
INSERT INTO "checkpoint_writes" VALUES(2,'t','','1','w',0,'','a','k',X'76');
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
INSERT INTO "checkpoints" VALUES(1,'t','','1',NULL,'','r','[["a", "1"]]','["b"]','{"step": 1}','msgpack',X'78','{"b":1}');
INSERT INTO "checkpoints" VALUES(2,'t','','1',NULL,'','r','[["a", "1"]]','["b"]','{"step": 1}','msgpack',X'78','{"b":1}');
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
INSERT INTO "events" VALUES('default','user/ana',1795331751462641,'01a2021c-8213-7404-984b-ffb9883c8ce6','hotpath','create','ok','ana',NULL,'t1',NULL,'activity',NULL,2,892.177,2,'turns');
INSERT INTO "events" VALUES('default','user/ana',1795331751828143,'01a2021c-8213-7404-984b-ffba2df7b924','hotpath','create','ok','ana',NULL,'t1','01a2021c-7e32-734a-84ca-b230974f67f7','activity',NULL,3,361.68,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795331751890539,'01a2021c-8213-7404-984b-ffbb093401e0','hotpath','create','ok','ana',NULL,'t1','01a2021c-7f95-710c-aacd-55fe08a276d3','activity',NULL,4,62.138,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795331752442700,'01a2021c-8213-7404-984b-ffbc60cea76e','hotpath','create','ok','ana',NULL,'t1','01a2021c-7fd3-73cf-8751-eadce4530bbc','activity',NULL,7,551.869,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795331752442720,'01a2021c-8213-7404-984b-ffbd6fd1ad80','hotpath','update','ok','ana',NULL,'t1','01a2021c-7e32-734a-84ca-b230974f67f7','activity',0.4976,7,551.891,1,'superseded');
INSERT INTO "events" VALUES('default','user/ana',1795331752442731,'01a2021c-8213-7404-984b-ffbeba08c185','hotpath','link','ok','ana',NULL,'t1','01a2021c-7fd3-73cf-8751-eadce4530bbc','activity',1.0,7,551.902,1,'supersedes');
INSERT INTO "events" VALUES('default','user/ana',1795331752474577,'01a2021c-829d-7335-9bef-9900ca67640b','hotpath','create','ok','ana',NULL,'t1','01a2021c-81fb-7798-890b-9000416f05e0','activity',NULL,9,31.644,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795331752474620,'01a2021c-829d-7335-9bef-9901aa3a73dd','hotpath','link','ok','ana',NULL,'t1','01a2021c-81fb-7798-890b-9000416f05e0','activity',0.6232,9,31.69,1,'related_to');
INSERT INTO "events" VALUES('default','user/ana',1795331752508124,'01a2021c-829d-7335-9bef-9902f86dfa0b','hotpath','delete','ok','ana',NULL,'t1','01a2021c-81fb-7798-890b-9000416f05e0','activity',NULL,10,15.41,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795331752530530,'01a2021c-829d-7335-9bef-9903443776b1','hotpath','create','ok','tom',NULL,'t1',NULL,'activity',NULL,2,13.186,2,'turns');
INSERT INTO "events" VALUES('firm','user/tom',1795331752556185,'01a2021c-829d-7335-9bef-9904348ff5c0','hotpath','create','ok','tom',NULL,'t1','01a2021c-8253-7487-b1fd-0206e2bcafb6','activity',NULL,3,25.332,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795331752563302,'01a2021c-829d-7335-9bef-9905d2ffc1b4','hotpath','create','ok','tom',NULL,'t1','01a2021c-826d-700a-afad-301cd566f8e9','activity',NULL,4,6.894,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795331752578625,'01a2021c-829d-7335-9bef-9906a8002fde','hotpath','create','ok','tom',NULL,'t1','01a2021c-8274-7736-bf1b-0595c43a7ad6','activity',NULL,7,15.135,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795331752578640,'01a2021c-829d-7335-9bef-9907fca48e5f','hotpath','update','ok','tom',NULL,'t1','01a2021c-8253-7487-b1fd-0206e2bcafb6','activity',0.4976,7,15.153,1,'superseded');
INSERT INTO "events" VALUES('firm','user/tom',1795331752578652,'01a2021c-829d-7335-9bef-990811f5dc78','hotpath','link','ok','tom',NULL,'t1','01a2021c-8274-7736-bf1b-0595c43a7ad6','activity',1.0,7,15.164,1,'supersedes');
INSERT INTO "events" VALUES('firm','user/tom',1795331752583393,'01a2021c-829d-7335-9bef-99094ff98969','hotpath','create','ok','tom',NULL,'t1','01a2021c-8283-77d2-a4c2-a46b6bfddc6d','activity',NULL,9,4.52,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795331752583405,'01a2021c-829d-7335-9bef-990aef2c523a','hotpath','link','ok','tom',NULL,'t1','01a2021c-8283-77d2-a4c2-a46b6bfddc6d','activity',0.6232,9,4.533,1,'related_to');
INSERT INTO "events" VALUES('firm','user/tom',1795331752590476,'01a2021c-829d-7335-9bef-990b12663bcf','hotpath','delete','ok','tom',NULL,'t1','01a2021c-8283-77d2-a4c2-a46b6bfddc6d','activity',NULL,10,6.887,1,'');
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
INSERT INTO "journal" VALUES(1,1,'ADD','01a2021c-7e16-7308-a876-d8a44bbf5f79',NULL,1,'ann','t1',1795331750669456,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,2,'ADD','01a2021c-7e16-7308-a876-d8a5e79c3f27',NULL,1,'ann','t1',1795331750669456,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,3,'ADD','01a2021c-7e32-734a-84ca-b230974f67f7',NULL,1,'ann','t1',1795331751466595,'semantic',3,NULL);
INSERT INTO "journal" VALUES(1,4,'ADD','01a2021c-7f95-710c-aacd-55fe08a276d3',NULL,1,'ann','t1',1795331751828522,'semantic',4,NULL);
INSERT INTO "journal" VALUES(1,5,'ADD','01a2021c-7fd3-73cf-8751-eadce4530bbc',NULL,1,'ann','t1',1795331751890960,'semantic',5,NULL);
INSERT INTO "journal" VALUES(1,6,'SUPERSEDE','01a2021c-7e32-734a-84ca-b230974f67f7',1,2,'ann','t1',1795331751890960,'semantic',6,'{"by": "01a2021c-7fd3-73cf-8751-eadce4530bbc", "band": "auto", "rule": "new value", "cosine": 0.4976}');
INSERT INTO "journal" VALUES(1,7,'LINK','01a2021c-7fd3-73cf-8751-eadce4530bbc',1,1,'ann','t1',1795331751890960,'semantic',6,'{"to": "01a2021c-7e32-734a-84ca-b230974f67f7", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(1,8,'ADD','01a2021c-81fb-7798-890b-9000416f05e0',NULL,1,'ann','t1',1795331752443054,'semantic',8,NULL);
INSERT INTO "journal" VALUES(1,9,'LINK','01a2021c-81fb-7798-890b-9000416f05e0',1,1,'ann','t1',1795331752443054,'semantic',8,'{"to": "01a2021c-7fd3-73cf-8751-eadce4530bbc", "type": "related_to", "strength": 0.6232}');
INSERT INTO "journal" VALUES(1,10,'DELETE','01a2021c-81fb-7798-890b-9000416f05e0',1,NULL,'ann','t1',1795331752493015,'semantic',10,NULL);
INSERT INTO "journal" VALUES(2,1,'ADD','01a2021c-8246-76e5-b5e8-96629102f0ea',NULL,1,'ann','t1',1795331752517839,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,2,'ADD','01a2021c-8246-76e5-b5e8-9663607f8872',NULL,1,'ann','t1',1795331752517839,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,3,'ADD','01a2021c-8253-7487-b1fd-0206e2bcafb6',NULL,1,'ann','t1',1795331752530970,'semantic',3,NULL);
INSERT INTO "journal" VALUES(2,4,'ADD','01a2021c-826d-700a-afad-301cd566f8e9',NULL,1,'ann','t1',1795331752556528,'semantic',4,NULL);
INSERT INTO "journal" VALUES(2,5,'ADD','01a2021c-8274-7736-bf1b-0595c43a7ad6',NULL,1,'ann','t1',1795331752563588,'semantic',5,NULL);
INSERT INTO "journal" VALUES(2,6,'SUPERSEDE','01a2021c-8253-7487-b1fd-0206e2bcafb6',1,2,'ann','t1',1795331752563588,'semantic',6,'{"by": "01a2021c-8274-7736-bf1b-0595c43a7ad6", "band": "auto", "rule": "new value", "cosine": 0.4976}');
INSERT INTO "journal" VALUES(2,7,'LINK','01a2021c-8274-7736-bf1b-0595c43a7ad6',1,1,'ann','t1',1795331752563588,'semantic',6,'{"to": "01a2021c-8253-7487-b1fd-0206e2bcafb6", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(2,8,'ADD','01a2021c-8283-77d2-a4c2-a46b6bfddc6d',NULL,1,'ann','t1',1795331752578995,'semantic',8,NULL);
INSERT INTO "journal" VALUES(2,9,'LINK','01a2021c-8283-77d2-a4c2-a46b6bfddc6d',1,1,'ann','t1',1795331752578995,'semantic',8,'{"to": "01a2021c-8274-7736-bf1b-0595c43a7ad6", "type": "related_to", "strength": 0.6232}');
INSERT INTO "journal" VALUES(2,10,'DELETE','01a2021c-8283-77d2-a4c2-a46b6bfddc6d',1,NULL,'ann','t1',1795331752583796,'semantic',10,NULL);
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
INSERT INTO "memories" VALUES(4294967297,1,1,1,'active','01a2021c-7e16-7308-a876-d8a44bbf5f79','2:t1after:the beginning:0:b2afb6ad4a41d00e036c3e00',1795331750669456,1795331750669456,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"01a2021c-7e16-7308-a876-d8a44bbf5f79"
]','user',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new?');
INSERT INTO "memories" VALUES(4294967298,1,2,1,'active','01a2021c-7e16-7308-a876-d8a5e79c3f27','2:t1after:the beginning:1:5246979925d09b4200ccb5ba',1795331750669456,1795331750669456,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"01a2021c-7e16-7308-a876-d8a5e79c3f27"
]','assistant',NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'Nothing much.');
INSERT INTO "memories" VALUES(4294967299,1,6,2,'active','01a2021c-7e32-734a-84ca-b230974f67f7',NULL,1795331751466595,1795331751890960,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,1795331751890960,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Lisbon.');
INSERT INTO "memories" VALUES(4294967300,1,4,1,'active','01a2021c-7f95-710c-aacd-55fe08a276d3',NULL,1795331751828522,1795331751828522,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana has a cat named Żółć.');
INSERT INTO "memories" VALUES(4294967301,1,5,1,'active','01a2021c-7fd3-73cf-8751-eadce4530bbc',NULL,1795331751890960,1795331751890960,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Porto now.');
INSERT INTO "memories" VALUES(4294967302,1,10,1,'soft_deleted','01a2021c-81fb-7798-890b-9000416f05e0',NULL,1795331752443054,1795331752443054,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,1797923752493015,'person',NULL,NULL,NULL,NULL,'Ana plays chess.');
INSERT INTO "memories" VALUES(8589934593,2,1,1,'active','01a2021c-8246-76e5-b5e8-96629102f0ea','2:t1after:the beginning:0:b2afb6ad4a41d00e036c3e00',1795331752517839,1795331752517839,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"01a2021c-8246-76e5-b5e8-96629102f0ea"
]','user',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new?');
INSERT INTO "memories" VALUES(8589934594,2,2,1,'active','01a2021c-8246-76e5-b5e8-9663607f8872','2:t1after:the beginning:1:5246979925d09b4200ccb5ba',1795331752517839,1795331752517839,'turn','note','activity',0.5,0,'[]','[]','thread/t1','[
"01a2021c-8246-76e5-b5e8-9663607f8872"
]','assistant',NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'Nothing much.');
INSERT INTO "memories" VALUES(8589934595,2,6,2,'active','01a2021c-8253-7487-b1fd-0206e2bcafb6',NULL,1795331752530970,1795331752563588,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,1795331752563588,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Lisbon.');
INSERT INTO "memories" VALUES(8589934596,2,4,1,'active','01a2021c-826d-700a-afad-301cd566f8e9',NULL,1795331752556528,1795331752556528,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana has a cat named Żółć.');
INSERT INTO "memories" VALUES(8589934597,2,5,1,'active','01a2021c-8274-7736-bf1b-0595c43a7ad6',NULL,1795331752563588,1795331752563588,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Porto now.');
INSERT INTO "memories" VALUES(8589934598,2,10,1,'soft_deleted','01a2021c-8283-77d2-a4c2-a46b6bfddc6d',NULL,1795331752578995,1795331752578995,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,1797923752583796,'person',NULL,NULL,NULL,NULL,'Ana plays chess.');
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('model','wordllama-l2-supercat-128');
INSERT INTO "meta" VALUES('schema',7);
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
INSERT INTO "relations" VALUES(1,'01a2021c-7fd3-73cf-8751-eadce4530bbc','01a2021c-7e32-734a-84ca-b230974f67f7','supersedes',1.0,1,7,1795331751890960);
INSERT INTO "relations" VALUES(1,'01a2021c-81fb-7798-890b-9000416f05e0','01a2021c-7fd3-73cf-8751-eadce4530bbc','related_to',0.6232,1,9,1795331752443054);
INSERT INTO "relations" VALUES(2,'01a2021c-8274-7736-bf1b-0595c43a7ad6','01a2021c-8253-7487-b1fd-0206e2bcafb6','supersedes',1.0,1,7,1795331752563588);
INSERT INTO "relations" VALUES(2,'01a2021c-8283-77d2-a4c2-a46b6bfddc6d','01a2021c-8274-7736-bf1b-0595c43a7ad6','related_to',0.6232,1,9,1795331752578995);
CREATE TABLE signals (
    row    INTEGER PRIMARY KEY,
    flags  INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    vector BLOB,
    days   BLOB    NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces BLOB               -- vectors of word pieces, int8, from models that give them
, statements BLOB);
INSERT INTO "signals" VALUES(4294967297,2,X'4544E36B',X'6C2B41301C32B8A532A4842D60B03FAFD02C7D26042C212DF82D92AC1AB100B160AC5EAF9E2B3B9D0C2E23B00E21FAB01C1CCC2A272C8DA9B2A4DDACA129FEA1268EF4AB4329E72E35AE76AEB0AC61AF4E2B43AE62ADA32E673238A69FA861250927AE212E29A12D5428662742287C2802B0C198B3A671A931A8262F91A2B43164AC182D9C2C5E28D32A84294627D5222AAEBC2AB8AB352FF5AD112D613022AFFEACAEAE0CB0662EEB2E8E942DAC322CB41C01A2D82918319D2F10AD892D792B28972C303830C6A77D2E51B2AFAAA7312530432D4A320C2B452AA6B0D2AED6AE092CF828452D0D2DF226712C2AAE8B29FF2FDA294E1B1B8B3A2BE0ADA325392F',X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967298,4,X'',X'F42C56A7D5A0C72CEE1D9EA4072F8CA823AF71324CAB6EAB6C28632F53A6692F74B443ADC02A931C67282E252AA158A8032F0F254E3281B348301EA54D2993A83B2CAD263BB1C32EDE1E7DB18DB3492EDA2D98A6E2A8B4307327332B2BA92D27E0AC223126A577ACA72C6C21F42AEBAA3CA8D72C7B2A58252527232DA01AED2D882A44AE1DADFD28C9304BAEEDAB6D250826CBABB6A01EAED4ABA52E55A9CCB2772C23B000B0E69F3B282EA8AAAB0C2CEF25D1245126CE9C78245FA22B2B7329FDAA372EC0289C28DFAAF929403068A38F23A7A9FBACD8B0902D1A2CF6AEBCA2CD30EFA92EAA5B30262E26A2FC2B5B304F29ECADE1238C2A9132A72A5DA9B22B',X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967299,0,X'E26F9F77AF2C0F53B5506020',X'A12BDDAF392418B0C5ACF0323DA640A69F2604ADDA272530BB1B28906FA4E6A92B272A3163AB0B30BA2668B0213182B106A83630AFA7BC2EE0B3FBA7672A2B2AAB2DD92F44A7B62601ACAC2DF42D53A50F32DD2FF8A9B7AEDE29762988B240B1A5A2C8AC78A93CAC1D2ECCA82BAFC1A4E7B229AEB12392AB83A6D528C42CF3A74BA943ABF3A05E2F60A99BA8B71D0B26D1284D253E32312B2AB1F11F8230852AA8A7381C952AAC277FAC802E23A6422FAF2126A09929742CF929D3AF2305232DEC182C294B26BB2E53A9DFAC53255330B2A941246BAD8EA7B63217309F2B2FA8CEACBB2B3AAE7DAB72AF02A6FAAC50A19DAD95AF1D2BC7290AA97B2346304622',X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967300,0,X'E26F9F77A8435E9E067E235EA6766F5C',X'96B155AECD251AAD61295C24B8A843AA8CA6F720AE25742A202DE6ABC7A4D7A8C49F3130B1178DAED5AC7DB08FA03EAD78A714A80B2A26B0D9AF65A55D2FFDB0862F042140AD251B15B0972F2F21562DB22AF33015AC62B000B01AAB243002A840AAFA2DF4304A268F2B4F2E6F2E2BA8BDB4D62DDC9E7B2CA8B17DB0402908B457AAA5AD37AA169BA01C77A91AAD4C9ED82F0AA9143077AE5AB074246F2F52AC1FB0EEAA2028B40FAAAA68A92CA9F4A6F329CDA5DCAD52312325FBA8FB2B29ADB42DA4A5D92136A6CBA92828362E43AC5FAD3B241532252C329822B1B0A1BCA0102FA1ADB12C762DD72973A5C523C0A40A3102A4AAA8A9A642AE072E48AD472E',X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967301,0,X'E26F9F77AF2C0F53828C9E9DCFAC0C91',X'A73171AF57A1C5AD60B0C0AC8E25EAAE89AB96AA1D25472C77AF3DB03AA92CABB1AC6E31E4B0881511321CAFA52D7CB2B0AA282F4D32E12B72B1EF28EB9F47A38330532A642A672D092AE8234628E31D46314C2DF2AB0EA1572645AE1CB1E8AEB8AEC7B0C8B0112A2023292B71A3C52D0514FAAA3FA421AEC525A9227A3245277CA86D2578AB5C240DA5EB29C42C789C1CAD139C582F6028F7163E2B062BA82C40AC322FC62A142D972963A9F9A65722872E4BB1872DB9A6823056AC972B4C2C59B07BAE1A971824D0A1A1ADECADED294EA18BA2D6AD2D295730BB281BB0B8AA9E30752E1098CBAA55AC36AEC1AED2A89F2E72A81DAD5130B59F6F2E2330A7A3',X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967302,0,X'E26F9F77BADE895E14262065',X'75A5ABB0D59A59AC9B2C26A5C0AC811E70A850AED32834B2CD9F0E2DFE2835ACB62DE13413AF59A45D24E8B0DAAAA52D082E9F2FAE2E51997AB08AAAEDAA03A8042DAD3220323B28DDA8EEA200ABCB2851AA762C4BA00F2887AB62B0D52EE7ABC92B11B139AB55AAA7A6012F02A20FABA6A352A8BDAD702C92B1FBACF125E9AB3CB1991FA9AC68326728391E68262424380B472A6D2B172EB92D2E3063A70C27F025D0B26CA899AA19ACD29A31B1BFAD271406B013A852AAA22CAAAD8D28791205AC812B3AA6722E8BA8FA30B8A25B2855AECF29B9A84E2C762EAA3021AAEDA62130CCAE1FAB5EB1F29CFE2B6A149E0C182F3BACF62BC8A5D1B0722C95273CA8',X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934593,2,X'4544E36B',X'6C2B41301C32B8A532A4842D60B03FAFD02C7D26042C212DF82D92AC1AB100B160AC5EAF9E2B3B9D0C2E23B00E21FAB01C1CCC2A272C8DA9B2A4DDACA129FEA1268EF4AB4329E72E35AE76AEB0AC61AF4E2B43AE62ADA32E673238A69FA861250927AE212E29A12D5428662742287C2802B0C198B3A671A931A8262F91A2B43164AC182D9C2C5E28D32A84294627D5222AAEBC2AB8AB352FF5AD112D613022AFFEACAEAE0CB0662EEB2E8E942DAC322CB41C01A2D82918319D2F10AD892D792B28972C303830C6A77D2E51B2AFAAA7312530432D4A320C2B452AA6B0D2AED6AE092CF828452D0D2DF226712C2AAE8B29FF2FDA294E1B1B8B3A2BE0ADA325392F',X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934594,4,X'',X'F42C56A7D5A0C72CEE1D9EA4072F8CA823AF71324CAB6EAB6C28632F53A6692F74B443ADC02A931C67282E252AA158A8032F0F254E3281B348301EA54D2993A83B2CAD263BB1C32EDE1E7DB18DB3492EDA2D98A6E2A8B4307327332B2BA92D27E0AC223126A577ACA72C6C21F42AEBAA3CA8D72C7B2A58252527232DA01AED2D882A44AE1DADFD28C9304BAEEDAB6D250826CBABB6A01EAED4ABA52E55A9CCB2772C23B000B0E69F3B282EA8AAAB0C2CEF25D1245126CE9C78245FA22B2B7329FDAA372EC0289C28DFAAF929403068A38F23A7A9FBACD8B0902D1A2CF6AEBCA2CD30EFA92EAA5B30262E26A2FC2B5B304F29ECADE1238C2A9132A72A5DA9B22B',X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934595,0,X'E26F9F77AF2C0F53B5506020',X'A12BDDAF392418B0C5ACF0323DA640A69F2604ADDA272530BB1B28906FA4E6A92B272A3163AB0B30BA2668B0213182B106A83630AFA7BC2EE0B3FBA7672A2B2AAB2DD92F44A7B62601ACAC2DF42D53A50F32DD2FF8A9B7AEDE29762988B240B1A5A2C8AC78A93CAC1D2ECCA82BAFC1A4E7B229AEB12392AB83A6D528C42CF3A74BA943ABF3A05E2F60A99BA8B71D0B26D1284D253E32312B2AB1F11F8230852AA8A7381C952AAC277FAC802E23A6422FAF2126A09929742CF929D3AF2305232DEC182C294B26BB2E53A9DFAC53255330B2A941246BAD8EA7B63217309F2B2FA8CEACBB2B3AAE7DAB72AF02A6FAAC50A19DAD95AF1D2BC7290AA97B2346304622',X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934596,0,X'E26F9F77A8435E9E067E235EA6766F5C',X'96B155AECD251AAD61295C24B8A843AA8CA6F720AE25742A202DE6ABC7A4D7A8C49F3130B1178DAED5AC7DB08FA03EAD78A714A80B2A26B0D9AF65A55D2FFDB0862F042140AD251B15B0972F2F21562DB22AF33015AC62B000B01AAB243002A840AAFA2DF4304A268F2B4F2E6F2E2BA8BDB4D62DDC9E7B2CA8B17DB0402908B457AAA5AD37AA169BA01C77A91AAD4C9ED82F0AA9143077AE5AB074246F2F52AC1FB0EEAA2028B40FAAAA68A92CA9F4A6F329CDA5DCAD52312325FBA8FB2B29ADB42DA4A5D92136A6CBA92828362E43AC5FAD3B241532252C329822B1B0A1BCA0102FA1ADB12C762DD72973A5C523C0A40A3102A4AAA8A9A642AE072E48AD472E',X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934597,0,X'E26F9F77AF2C0F53828C9E9DCFAC0C91',X'A73171AF57A1C5AD60B0C0AC8E25EAAE89AB96AA1D25472C77AF3DB03AA92CABB1AC6E31E4B0881511321CAFA52D7CB2B0AA282F4D32E12B72B1EF28EB9F47A38330532A642A672D092AE8234628E31D46314C2DF2AB0EA1572645AE1CB1E8AEB8AEC7B0C8B0112A2023292B71A3C52D0514FAAA3FA421AEC525A9227A3245277CA86D2578AB5C240DA5EB29C42C789C1CAD139C582F6028F7163E2B062BA82C40AC322FC62A142D972963A9F9A65722872E4BB1872DB9A6823056AC972B4C2C59B07BAE1A971824D0A1A1ADECADED294EA18BA2D6AD2D295730BB281BB0B8AA9E30752E1098CBAA55AC36AEC1AED2A89F2E72A81DAD5130B59F6F2E2330A7A3',X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934598,0,X'E26F9F77BADE895E14262065',X'75A5ABB0D59A59AC9B2C26A5C0AC811E70A850AED32834B2CD9F0E2DFE2835ACB62DE13413AF59A45D24E8B0DAAAA52D082E9F2FAE2E51997AB08AAAEDAA03A8042DAD3220323B28DDA8EEA200ABCB2851AA762C4BA00F2887AB62B0D52EE7ABC92B11B139AB55AAA7A6012F02A20FABA6A352A8BDAD702C92B1FBACF125E9AB3CB1991FA9AC68326728391E68262424380B472A6D2B172EB92D2E3063A70C27F025D0B26CA899AA19ACD29A31B1BFAD271406B013A852AAA22CAAAD8D28791205AC812B3AA6722E8BA8FA30B8A25B2855AECF29B9A84E2C762EAA3021AAEDA62130CCAE1FAB5EB1F29CFE2B6A149E0C182F3BACF62BC8A5D1B0722C95273CA8',X'',NULL,NULL);
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
INSERT INTO "versions" VALUES(4294967299,1,1795331751466595,1795331751466595,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,'person');
INSERT INTO "versions" VALUES(8589934595,1,1795331752530970,1795331752530970,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,'ann','t1',NULL,NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,'person');
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
