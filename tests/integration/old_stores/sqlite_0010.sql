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
INSERT INTO "checkpoint_blobs" VALUES(1,'t','','__start__','00000000000000000000000000000001.0.5903981800838416','msgpack',X'81A161A178','{"a":"x"}');
INSERT INTO "checkpoint_blobs" VALUES(1,'t','','__root__','00000000000000000000000000000002.0.6526198678443789','msgpack',X'81A161A178','{"a":"x"}');
INSERT INTO "checkpoint_blobs" VALUES(1,'t','','__root__','00000000000000000000000000000003.0.8796198389813094','msgpack',X'82A161A161A16201','{"a":"a","b":1}');
INSERT INTO "checkpoint_blobs" VALUES(2,'t','','__start__','00000000000000000000000000000001.0.3592124180464016','msgpack',X'81A161A178','{"a":"x"}');
INSERT INTO "checkpoint_blobs" VALUES(2,'t','','__root__','00000000000000000000000000000002.0.9396578634603302','msgpack',X'81A161A178','{"a":"x"}');
INSERT INTO "checkpoint_blobs" VALUES(2,'t','','__root__','00000000000000000000000000000003.0.541426027468684','msgpack',X'82A161A161A16201','{"a":"a","b":1}');
CREATE TABLE checkpoint_threads (
    ns         INTEGER NOT NULL,
    thread_id  TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (ns, thread_id)
) WITHOUT ROWID;
INSERT INTO "checkpoint_threads" VALUES(1,'t','01a2269f-d961-7273-ab37-90b00498430f',1795944339809492,1795944339809492);
INSERT INTO "checkpoint_threads" VALUES(2,'t','01a2269f-da46-75e7-9598-bb00cc8ecd2d',1795944340038419,1795944340038419);
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
INSERT INTO "checkpoint_writes" VALUES(1,'t','','1f1ebd6d-79be-6bad-bfff-4d76f258c776','a444022e-f060-a070-e2a5-c512e723707f',0,'~__pregel_pull, __start__','__root__','msgpack',X'81A161A178');
INSERT INTO "checkpoint_writes" VALUES(1,'t','','1f1ebd6d-79be-6bad-bfff-4d76f258c776','a444022e-f060-a070-e2a5-c512e723707f',1,'~__pregel_pull, __start__','branch:to:n','null',X'');
INSERT INTO "checkpoint_writes" VALUES(1,'t','','1f1ebd6d-79e8-68dd-8000-760b279f7b9e','3628549a-34ab-f57b-98f0-3323c13a5745',0,'~__pregel_pull, n','__root__','msgpack',X'82A161A161A16201');
INSERT INTO "checkpoint_writes" VALUES(2,'t','','1f1ebd6d-7bf8-6507-bfff-db29cae19a60','9751e930-910e-e1f9-4401-a6f2f564b65d',0,'~__pregel_pull, __start__','__root__','msgpack',X'81A161A178');
INSERT INTO "checkpoint_writes" VALUES(2,'t','','1f1ebd6d-7bf8-6507-bfff-db29cae19a60','9751e930-910e-e1f9-4401-a6f2f564b65d',1,'~__pregel_pull, __start__','branch:to:n','null',X'');
INSERT INTO "checkpoint_writes" VALUES(2,'t','','1f1ebd6d-7c0c-66ea-8000-3b4e56c0cb58','db1c1d60-8a5b-9be6-65d1-480932012381',0,'~__pregel_pull, n','__root__','msgpack',X'82A161A161A16201');
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
INSERT INTO "checkpoints" VALUES(1,'t','','1f1ebd6d-79be-6bad-bfff-4d76f258c776',NULL,'',NULL,'[["__start__", "00000000000000000000000000000001.0.5903981800838416"]]','[]','{"source": "input", "step": -1, "parents": {}}','msgpack',X'87A17604A27473D920323032362D31312D32395430393A32353A33392E3830343434392B30303A3030A26964D92431663165626436642D373962652D366261642D626666662D346437366632353863373736AE6368616E6E656C5F76616C75657380B06368616E6E656C5F76657273696F6E7381A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030312E302E35393033393831383030383338343136AD76657273696F6E735F7365656E81A95F5F696E7075745F5F80B0757064617465645F6368616E6E656C7391A95F5F73746172745F5F','{}');
INSERT INTO "checkpoints" VALUES(1,'t','','1f1ebd6d-79e8-68dd-8000-760b279f7b9e','1f1ebd6d-79be-6bad-bfff-4d76f258c776','',NULL,'[["__root__", "00000000000000000000000000000002.0.6526198678443789"]]','["branch:to:n"]','{"source": "loop", "step": 0, "parents": {}}','msgpack',X'87A17604A27473D920323032362D31312D32395430393A32353A33392E3832313536322B30303A3030A26964D92431663165626436642D373965382D363864642D383030302D373630623237396637623965AE6368616E6E656C5F76616C75657381AB6272616E63683A746F3A6EC0B06368616E6E656C5F76657273696F6E7383A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030322E302E36353236313938363738343433373839A85F5F726F6F745F5FD93330303030303030303030303030303030303030303030303030303030303030322E302E36353236313938363738343433373839AB6272616E63683A746F3A6ED93330303030303030303030303030303030303030303030303030303030303030322E302E36353236313938363738343433373839AD76657273696F6E735F7365656E82A95F5F696E7075745F5F80A95F5F73746172745F5F81A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030312E302E35393033393831383030383338343136B0757064617465645F6368616E6E656C7392A85F5F726F6F745F5FAB6272616E63683A746F3A6E','{"branch:to:n":null}');
INSERT INTO "checkpoints" VALUES(1,'t','','1f1ebd6d-79f4-6a28-8001-5fec02fe6bc9','1f1ebd6d-79e8-68dd-8000-760b279f7b9e','',NULL,'[["__root__", "00000000000000000000000000000003.0.8796198389813094"]]','[]','{"source": "loop", "step": 1, "parents": {}}','msgpack',X'87A17604A27473D920323032362D31312D32395430393A32353A33392E3832363532322B30303A3030A26964D92431663165626436642D373966342D366132382D383030312D356665633032666536626339AE6368616E6E656C5F76616C75657380B06368616E6E656C5F76657273696F6E7383A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030322E302E36353236313938363738343433373839A85F5F726F6F745F5FD93330303030303030303030303030303030303030303030303030303030303030332E302E38373936313938333839383133303934AB6272616E63683A746F3A6ED93330303030303030303030303030303030303030303030303030303030303030332E302E38373936313938333839383133303934AD76657273696F6E735F7365656E83A95F5F696E7075745F5F80A95F5F73746172745F5F81A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030312E302E35393033393831383030383338343136A16E81AB6272616E63683A746F3A6ED93330303030303030303030303030303030303030303030303030303030303030322E302E36353236313938363738343433373839B0757064617465645F6368616E6E656C7391A85F5F726F6F745F5F','{}');
INSERT INTO "checkpoints" VALUES(2,'t','','1f1ebd6d-7bf8-6507-bfff-db29cae19a60',NULL,'',NULL,'[["__start__", "00000000000000000000000000000001.0.3592124180464016"]]','[]','{"source": "input", "step": -1, "parents": {}}','msgpack',X'87A17604A27473D920323032362D31312D32395430393A32353A34302E3033373735332B30303A3030A26964D92431663165626436642D376266382D363530372D626666662D646232396361653139613630AE6368616E6E656C5F76616C75657380B06368616E6E656C5F76657273696F6E7381A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030312E302E33353932313234313830343634303136AD76657273696F6E735F7365656E81A95F5F696E7075745F5F80B0757064617465645F6368616E6E656C7391A95F5F73746172745F5F','{}');
INSERT INTO "checkpoints" VALUES(2,'t','','1f1ebd6d-7c0c-66ea-8000-3b4e56c0cb58','1f1ebd6d-7bf8-6507-bfff-db29cae19a60','',NULL,'[["__root__", "00000000000000000000000000000002.0.9396578634603302"]]','["branch:to:n"]','{"source": "loop", "step": 0, "parents": {}}','msgpack',X'87A17604A27473D920323032362D31312D32395430393A32353A34302E3034353938302B30303A3030A26964D92431663165626436642D376330632D363665612D383030302D336234653536633063623538AE6368616E6E656C5F76616C75657381AB6272616E63683A746F3A6EC0B06368616E6E656C5F76657273696F6E7383A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030322E302E39333936353738363334363033333032A85F5F726F6F745F5FD93330303030303030303030303030303030303030303030303030303030303030322E302E39333936353738363334363033333032AB6272616E63683A746F3A6ED93330303030303030303030303030303030303030303030303030303030303030322E302E39333936353738363334363033333032AD76657273696F6E735F7365656E82A95F5F696E7075745F5F80A95F5F73746172745F5F81A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030312E302E33353932313234313830343634303136B0757064617465645F6368616E6E656C7392A85F5F726F6F745F5FAB6272616E63683A746F3A6E','{"branch:to:n":null}');
INSERT INTO "checkpoints" VALUES(2,'t','','1f1ebd6d-7c29-67a7-8001-d6b30fd49cb2','1f1ebd6d-7c0c-66ea-8000-3b4e56c0cb58','',NULL,'[["__root__", "00000000000000000000000000000003.0.541426027468684"]]','[]','{"source": "loop", "step": 1, "parents": {}}','msgpack',X'87A17604A27473D920323032362D31312D32395430393A32353A34302E3035373836392B30303A3030A26964D92431663165626436642D376332392D363761372D383030312D643662333066643439636232AE6368616E6E656C5F76616C75657380B06368616E6E656C5F76657273696F6E7383A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030322E302E39333936353738363334363033333032A85F5F726F6F745F5FD93230303030303030303030303030303030303030303030303030303030303030332E302E353431343236303237343638363834AB6272616E63683A746F3A6ED93230303030303030303030303030303030303030303030303030303030303030332E302E353431343236303237343638363834AD76657273696F6E735F7365656E83A95F5F696E7075745F5F80A95F5F73746172745F5F81A95F5F73746172745F5FD93330303030303030303030303030303030303030303030303030303030303030312E302E33353932313234313830343634303136A16E81AB6272616E63683A746F3A6ED93330303030303030303030303030303030303030303030303030303030303030322E302E39333936353738363334363033333032B0757064617465645F6368616E6E656C7391A85F5F726F6F745F5F','{}');
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
INSERT INTO "events" VALUES('default','user/ana',1795944330025532,'01a2269f-b713-70f1-85e9-aae8ff94ce09','hotpath','create','ok','ana',NULL,'t',NULL,'activity',NULL,3,83.651,3,'turns');
INSERT INTO "events" VALUES('default','user/ana',1795944330201780,'01a2269f-b713-70f1-85e9-aae93ba066cf','hotpath','create','ok','ana',NULL,'t','01a2269f-b32a-741c-b5e0-dfe50c1994ac','profile',NULL,4,175.754,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795944330465747,'01a2269f-b713-70f1-85e9-aaeaf3da04fe','hotpath','create','ok','ana',NULL,'t','01a2269f-b3da-7505-83fb-225c8fba13fa','profile',NULL,7,263.661,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795944330465820,'01a2269f-b713-70f1-85e9-aaeb067aacda','hotpath','update','ok','ana',NULL,'t','01a2269f-b32a-741c-b5e0-dfe50c1994ac','profile',NULL,7,263.737,1,'superseded');
INSERT INTO "events" VALUES('default','user/ana',1795944330465837,'01a2269f-b713-70f1-85e9-aaecd6d80327','hotpath','link','ok','ana',NULL,'t','01a2269f-b3da-7505-83fb-225c8fba13fa','profile',1.0,7,263.756,1,'supersedes');
INSERT INTO "events" VALUES('default','user/ana',1795944330485681,'01a2269f-b713-70f1-85e9-aaed0844a8f1','hotpath','create','ok','ana',NULL,'t','01a2269f-b4e3-72f7-b996-b8b0a189e930','profile',NULL,8,19.465,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795944330505694,'01a2269f-b713-70f1-85e9-aaeeb59ecdf1','hotpath','create','ok','ana',NULL,'t','01a2269f-b4f8-7112-bc83-4dcf61de2de1','activity',NULL,9,19.59,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795944330517693,'01a2269f-b713-70f1-85e9-aaef97b10f60','hotpath','delete','ok','ana',NULL,'t','01a2269f-b4f8-7112-bc83-4dcf61de2de1','activity',NULL,10,11.563,1,'');
INSERT INTO "events" VALUES('default','user/ana',1795944330533628,'01a2269f-b713-70f1-85e9-aaf011c860c8','hotpath','create','ok','ana',NULL,'t','state:kudos_givers','state',NULL,11,15.59,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795944339895396,'01a2269f-daaa-7285-8158-f78f6b9f0bc1','hotpath','create','ok','tom',NULL,'t',NULL,'activity',NULL,3,25.122,3,'turns');
INSERT INTO "events" VALUES('firm','user/tom',1795944339925577,'01a2269f-daaa-7285-8158-f790547560b7','hotpath','create','ok','tom',NULL,'t','01a2269f-d9b8-73b1-8778-c2f518d16566','profile',NULL,4,29.669,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795944339953991,'01a2269f-daaa-7285-8158-f791a6b3dbe6','hotpath','create','ok','tom',NULL,'t','01a2269f-d9d6-7399-8fdd-74dbc7e12aeb','profile',NULL,7,28.099,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795944339954017,'01a2269f-daaa-7285-8158-f79209865458','hotpath','update','ok','tom',NULL,'t','01a2269f-d9b8-73b1-8778-c2f518d16566','profile',NULL,7,28.128,1,'superseded');
INSERT INTO "events" VALUES('firm','user/tom',1795944339954028,'01a2269f-daaa-7285-8158-f793aaf6009d','hotpath','link','ok','tom',NULL,'t','01a2269f-d9d6-7399-8fdd-74dbc7e12aeb','profile',1.0,7,28.139,1,'supersedes');
INSERT INTO "events" VALUES('firm','user/tom',1795944339985651,'01a2269f-daaa-7285-8158-f79423d52872','hotpath','create','ok','tom',NULL,'t','01a2269f-d9f2-7212-9a32-025632556f6b','profile',NULL,8,31.368,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795944340013591,'01a2269f-daaa-7285-8158-f795eb0728a0','hotpath','create','ok','tom',NULL,'t','01a2269f-da12-72ba-8033-91bf8f799ef1','activity',NULL,9,27.668,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795944340025644,'01a2269f-daaa-7285-8158-f7961ac0de50','hotpath','delete','ok','tom',NULL,'t','01a2269f-da12-72ba-8033-91bf8f799ef1','activity',NULL,10,11.787,1,'');
INSERT INTO "events" VALUES('firm','user/tom',1795944340030569,'01a2269f-daaa-7285-8158-f79737a8af26','hotpath','create','ok','tom',NULL,'t','state:kudos_givers','state',NULL,11,4.672,1,'');
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
INSERT INTO "journal" VALUES(1,1,'ADD','01a2269f-b2d6-771d-a1f3-9e86045a89d7',NULL,1,NULL,'t',1795944329942053,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,2,'ADD','01a2269f-b2d6-771d-a1f3-9e8711a5c801',NULL,1,NULL,'t',1795944329942053,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,3,'ADD','01a2269f-b2d6-771d-a1f3-9e88a793d28f',NULL,1,NULL,'t',1795944329942053,'turn',1,NULL);
INSERT INTO "journal" VALUES(1,4,'ADD','01a2269f-b32a-741c-b5e0-dfe50c1994ac',NULL,1,NULL,'t',1795944330026213,'semantic',4,NULL);
INSERT INTO "journal" VALUES(1,5,'ADD','01a2269f-b3da-7505-83fb-225c8fba13fa',NULL,1,NULL,'t',1795944330202288,'semantic',5,NULL);
INSERT INTO "journal" VALUES(1,6,'SUPERSEDE','01a2269f-b32a-741c-b5e0-dfe50c1994ac',1,2,NULL,'t',1795944330202288,'semantic',6,'{"by": "01a2269f-b3da-7505-83fb-225c8fba13fa", "band": "auto", "rule": "new value"}');
INSERT INTO "journal" VALUES(1,7,'LINK','01a2269f-b3da-7505-83fb-225c8fba13fa',1,1,NULL,'t',1795944330202288,'semantic',6,'{"to": "01a2269f-b32a-741c-b5e0-dfe50c1994ac", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(1,8,'ADD','01a2269f-b4e3-72f7-b996-b8b0a189e930',NULL,1,NULL,'t',1795944330466473,'semantic',8,NULL);
INSERT INTO "journal" VALUES(1,9,'ADD','01a2269f-b4f8-7112-bc83-4dcf61de2de1',NULL,1,NULL,'t',1795944330486349,'semantic',9,NULL);
INSERT INTO "journal" VALUES(1,10,'DELETE','01a2269f-b4f8-7112-bc83-4dcf61de2de1',1,NULL,NULL,'t',1795944330506525,'semantic',10,NULL);
INSERT INTO "journal" VALUES(1,11,'ADD','state:kudos_givers',NULL,1,NULL,'t',1795944330519941,'state',11,NULL);
INSERT INTO "journal" VALUES(2,1,'ADD','01a2269f-d99f-75fe-9cae-ea9091f2062c',NULL,1,NULL,'t',1795944339870551,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,2,'ADD','01a2269f-d99f-75fe-9cae-ea912b4789e1',NULL,1,NULL,'t',1795944339870551,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,3,'ADD','01a2269f-d99f-75fe-9cae-ea92ec94a254',NULL,1,NULL,'t',1795944339870551,'turn',1,NULL);
INSERT INTO "journal" VALUES(2,4,'ADD','01a2269f-d9b8-73b1-8778-c2f518d16566',NULL,1,NULL,'t',1795944339896095,'semantic',4,NULL);
INSERT INTO "journal" VALUES(2,5,'ADD','01a2269f-d9d6-7399-8fdd-74dbc7e12aeb',NULL,1,NULL,'t',1795944339926079,'semantic',5,NULL);
INSERT INTO "journal" VALUES(2,6,'SUPERSEDE','01a2269f-d9b8-73b1-8778-c2f518d16566',1,2,NULL,'t',1795944339926079,'semantic',6,'{"by": "01a2269f-d9d6-7399-8fdd-74dbc7e12aeb", "band": "auto", "rule": "new value"}');
INSERT INTO "journal" VALUES(2,7,'LINK','01a2269f-d9d6-7399-8fdd-74dbc7e12aeb',1,1,NULL,'t',1795944339926079,'semantic',6,'{"to": "01a2269f-d9b8-73b1-8778-c2f518d16566", "type": "supersedes", "strength": 1.0}');
INSERT INTO "journal" VALUES(2,8,'ADD','01a2269f-d9f2-7212-9a32-025632556f6b',NULL,1,NULL,'t',1795944339954463,'semantic',8,NULL);
INSERT INTO "journal" VALUES(2,9,'ADD','01a2269f-da12-72ba-8033-91bf8f799ef1',NULL,1,NULL,'t',1795944339986107,'semantic',9,NULL);
INSERT INTO "journal" VALUES(2,10,'DELETE','01a2269f-da12-72ba-8033-91bf8f799ef1',1,NULL,NULL,'t',1795944340014170,'semantic',10,NULL);
INSERT INTO "journal" VALUES(2,11,'ADD','state:kudos_givers',NULL,1,NULL,'t',1795944340026694,'state',11,NULL);
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
, accessed_at INTEGER, utc_offset INTEGER NOT NULL DEFAULT 0);
INSERT INTO "memories" VALUES(4294967297,1,1,1,'active','01a2269f-b2d6-771d-a1f3-9e86045a89d7','1:tid:m1',1790845200000000,1795944329942053,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m1"
]','user',NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new? I moved to Lisbon.',NULL,0);
INSERT INTO "memories" VALUES(4294967298,1,2,1,'active','01a2269f-b2d6-771d-a1f3-9e8711a5c801','1:tid:m2',1790845200000000,1795944329942053,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m2"
]','assistant',NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'How is it there?',NULL,0);
INSERT INTO "memories" VALUES(4294967299,1,3,1,'active','01a2269f-b2d6-771d-a1f3-9e88a793d28f','1:tid:m3',1790931600000000,1795944329942053,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m3"
]','user',NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'We talked about the allotment for an hour. Bed 1 is for leeks, sown in March. Bed 2 is for rhubarb, sown in April. Bed 3 is for beans, sown in May. Bed 4 is for peas, sown in June. Bed 5 is for kale, sown in March. Bed 6 is for chard, sown in April. Bed 7 is for onions, sown in May. Bed 8 is for garlic, sown in June. Bed 9 is for beetroot, sown in March. Bed 10 is for carrots, sown in April. Bed 11 is for parsnips, sown in May. Bed 12 is for lettuce, sown in June. Bed 13 is for spinach, sown in March. Bed 14 is for sorrel, sown in April. Bed 15 is for fennel, sown in May. Bed 16 is for dill, sown in June. Bed 17 is for parsley, sown in March. Bed 18 is for chives, sown in April. Bed 19 is for mint, sown in May. Bed 20 is for thyme, sown in June.',NULL,0);
INSERT INTO "memories" VALUES(4294967300,1,6,2,'active','01a2269f-b32a-741c-b5e0-dfe50c1994ac',NULL,1791018000000000,1795944330202288,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,1791190800000000,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,0);
INSERT INTO "memories" VALUES(4294967301,1,5,1,'active','01a2269f-b3da-7505-83fb-225c8fba13fa',NULL,1791190800000000,1795944330202288,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana lives in Porto.',NULL,0);
INSERT INTO "memories" VALUES(4294967302,1,8,1,'active','01a2269f-b4e3-72f7-b996-b8b0a189e930',NULL,1791277200000000,1795944330466473,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Ana has a cat named Żółć.',NULL,0);
INSERT INTO "memories" VALUES(4294967303,1,10,1,'soft_deleted','01a2269f-b4f8-7112-bc83-4dcf61de2de1',NULL,1791277200000000,1795944330486349,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,1798536330506525,'person',NULL,NULL,NULL,NULL,'Ana plays chess on Mondays.',NULL,0);
INSERT INTO "memories" VALUES(4294967304,1,11,1,'active','state:kudos_givers',NULL,1795944330518230,1795944330518230,'state','unknown','state',0.5,0,'[]','[]','state','[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,'who gave kudos',NULL,'{"name": "kudos_givers", "value": ["Ben Okri", "Ana Souza"]}','kudos givers
who gave kudos
Ben Okri Ana Souza',NULL,0);
INSERT INTO "memories" VALUES(8589934593,2,1,1,'active','01a2269f-d99f-75fe-9cae-ea9091f2062c','1:tid:m1',1790845200000000,1795944339870551,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m1"
]','user',NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'What was new? I moved to Lisbon.',NULL,0);
INSERT INTO "memories" VALUES(8589934594,2,2,1,'active','01a2269f-d99f-75fe-9cae-ea912b4789e1','1:tid:m2',1790845200000000,1795944339870551,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m2"
]','assistant',NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'assistant',NULL,NULL,NULL,NULL,'How is it there?',NULL,0);
INSERT INTO "memories" VALUES(8589934595,2,3,1,'active','01a2269f-d99f-75fe-9cae-ea92ec94a254','1:tid:m3',1790931600000000,1795944339870551,'turn','note','activity',0.5,0,'[]','[]','thread/t','[
"m3"
]','user',NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'We talked about the allotment for an hour. Bed 1 is for leeks, sown in March. Bed 2 is for rhubarb, sown in April. Bed 3 is for beans, sown in May. Bed 4 is for peas, sown in June. Bed 5 is for kale, sown in March. Bed 6 is for chard, sown in April. Bed 7 is for onions, sown in May. Bed 8 is for garlic, sown in June. Bed 9 is for beetroot, sown in March. Bed 10 is for carrots, sown in April. Bed 11 is for parsnips, sown in May. Bed 12 is for lettuce, sown in June. Bed 13 is for spinach, sown in March. Bed 14 is for sorrel, sown in April. Bed 15 is for fennel, sown in May. Bed 16 is for dill, sown in June. Bed 17 is for parsley, sown in March. Bed 18 is for chives, sown in April. Bed 19 is for mint, sown in May. Bed 20 is for thyme, sown in June.',NULL,0);
INSERT INTO "memories" VALUES(8589934596,2,6,2,'active','01a2269f-d9b8-73b1-8778-c2f518d16566',NULL,1791018000000000,1795944339926079,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,1791190800000000,NULL,'person',NULL,NULL,NULL,NULL,'Tom lives in Lisbon.',NULL,0);
INSERT INTO "memories" VALUES(8589934597,2,5,1,'active','01a2269f-d9d6-7399-8fdd-74dbc7e12aeb',NULL,1791190800000000,1795944339926079,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Tom lives in Porto.',NULL,0);
INSERT INTO "memories" VALUES(8589934598,2,8,1,'active','01a2269f-d9f2-7212-9a32-025632556f6b',NULL,1791277200000000,1795944339954463,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,NULL,NULL,NULL,'Tom has a cat named Żółć.',NULL,0);
INSERT INTO "memories" VALUES(8589934599,2,10,1,'soft_deleted','01a2269f-da12-72ba-8033-91bf8f799ef1',NULL,1791277200000000,1795944339986107,'semantic','note','activity',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,1798536340014170,'person',NULL,NULL,NULL,NULL,'Tom plays chess on Mondays.',NULL,0);
INSERT INTO "memories" VALUES(8589934600,2,11,1,'active','state:kudos_givers',NULL,1795944340026036,1795944340026036,'state','unknown','state',0.5,0,'[]','[]','state','[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,'person',NULL,'who gave kudos',NULL,'{"name": "kudos_givers", "value": ["Ben Okri", "Ana Souza"]}','kudos givers
who gave kudos
Ben Okri Ana Souza',NULL,0);
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
INSERT INTO "meta" VALUES('model','none');
INSERT INTO "meta" VALUES('schema',10);
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
INSERT INTO "namespaces" VALUES(1,'default','user/ana',11,0,8);
INSERT INTO "namespaces" VALUES(2,'firm','user/tom',11,0,8);
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
INSERT INTO "relations" VALUES(1,'01a2269f-b3da-7505-83fb-225c8fba13fa','01a2269f-b32a-741c-b5e0-dfe50c1994ac','supersedes',1.0,1,7,1795944330202288);
INSERT INTO "relations" VALUES(2,'01a2269f-d9d6-7399-8fdd-74dbc7e12aeb','01a2269f-d9b8-73b1-8778-c2f518d16566','supersedes',1.0,1,7,1795944339926079);
CREATE TABLE signals (
    row    INTEGER PRIMARY KEY,
    flags  INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    vector BLOB,
    days   BLOB    NOT NULL,  -- the days that the text names: pairs of first and last day since 1970, int32
    pieces BLOB               -- vectors of word pieces, int8, from models that give them
, statements BLOB);
INSERT INTO "signals" VALUES(4294967297,2,X'4544E36B78373E6FB5506020F58DECC6',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967298,14,X'',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967299,1,X'BBD5241F521140674E111E70FFFC4766B7EFDC035EB9425C1DFF3151B7B9D67EFFFC47660DBED51A6B7981551DFF3151DF48012EFFFC47669B8ED26DE6FF9B281DFF3151FFFC4766381BB6736E7F8F091DFF31513EB14361FFFC4766AE2BB10475BFE6701DFF3151B7B9D67EFFFC4766147AB81D4E3AE1781DFF3151DF48012EFFFC4766824ABF6A295CD0091DFF3151FFFC47661357007AE37A1E601DFF31513EB14361FFFC47668567070D4CE5B94D1DFF3151B7B9D67EFFFC4766E1255D21CE94BE381DFF3151DF48012EFFFC476677155A568F28476E1DFF3151FFFC4766CD44534FA9DC702E1DFF31513EB14361FFFC47665B7454381CFDB9401DFF3151B7B9D67EFFFC4766F8E13026E858DB6D1DFF3151DF48012EFFFC47666ED137515261837B1DFF3151FFFC4766D4803E483F464A5F1DFF31513EB14361FFFC476642B0393F490BAA381DFF3151B7B9D67EFFFC4766D3AD862F649E99651DFF3151DF48012EFFFC4766459D815861F318031DFF3151FFFC47662276700A1CBD49021DFF31513EB1436150E604E2B53CF5B841F10197B9134FD22B0C8DB13B87B5D9289E6AE79216E7E6CA117EC0D4F334D1',NULL,X'215000003F500000405000005D5000005E5000007C5000007D5000009A500000',NULL,NULL);
INSERT INTO "signals" VALUES(4294967300,0,X'E26F9F77AF2C0F53B55060205E7E34DD',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967301,0,X'E26F9F77AF2C0F53828C9E1D5E7E34DD',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967302,0,X'E26F9F77A8435E1E067E235EA6766F5C87CCE0F1',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967303,1,X'E26F9F77BADE895E14262065092DD25F471CE4B082A50DE2',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(4294967304,0,X'CFD7C543D97FE35D16FA1D0ACFD7C543E115920600DEE42FE26F9F775EE04A26FDD5969004465CE4',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934593,2,X'4544E36B78373E6FB5506020F58DECC6',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934594,14,X'',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934595,1,X'BBD5241F521140674E111E70FFFC4766B7EFDC035EB9425C1DFF3151B7B9D67EFFFC47660DBED51A6B7981551DFF3151DF48012EFFFC47669B8ED26DE6FF9B281DFF3151FFFC4766381BB6736E7F8F091DFF31513EB14361FFFC4766AE2BB10475BFE6701DFF3151B7B9D67EFFFC4766147AB81D4E3AE1781DFF3151DF48012EFFFC4766824ABF6A295CD0091DFF3151FFFC47661357007AE37A1E601DFF31513EB14361FFFC47668567070D4CE5B94D1DFF3151B7B9D67EFFFC4766E1255D21CE94BE381DFF3151DF48012EFFFC476677155A568F28476E1DFF3151FFFC4766CD44534FA9DC702E1DFF31513EB14361FFFC47665B7454381CFDB9401DFF3151B7B9D67EFFFC4766F8E13026E858DB6D1DFF3151DF48012EFFFC47666ED137515261837B1DFF3151FFFC4766D4803E483F464A5F1DFF31513EB14361FFFC476642B0393F490BAA381DFF3151B7B9D67EFFFC4766D3AD862F649E99651DFF3151DF48012EFFFC4766459D815861F318031DFF3151FFFC47662276700A1CBD49021DFF31513EB1436150E604E2B53CF5B841F10197B9134FD22B0C8DB13B87B5D9289E6AE79216E7E6CA117EC0D4F334D1',NULL,X'215000003F500000405000005D5000005E5000007C5000007D5000009A500000',NULL,NULL);
INSERT INTO "signals" VALUES(8589934596,0,X'1373DF7DAF2C0F53B55060205E7E34DD',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934597,0,X'1373DF7DAF2C0F53828C9E1D5E7E34DD',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934598,0,X'1373DF7DA8435E1E067E235EA6766F5C87CCE0F1',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934599,1,X'1373DF7DBADE895E14262065092DD25F471CE4B082A50DE2',NULL,X'',NULL,NULL);
INSERT INTO "signals" VALUES(8589934600,0,X'CFD7C543D97FE35D16FA1D0ACFD7C543E115920600DEE42FE26F9F775EE04A26FDD5969004465CE4',NULL,X'',NULL,NULL);
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
    text       TEXT    NOT NULL, valid_to INTEGER, trust TEXT NOT NULL DEFAULT 'person', utc_offset INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (row, version)
);
INSERT INTO "versions" VALUES(4294967300,1,1791018000000000,1795944330026213,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'ana',NULL,NULL,NULL,'t',NULL,NULL,NULL,NULL,NULL,'Ana lives in Lisbon.',NULL,'person',0);
INSERT INTO "versions" VALUES(8589934596,1,1791018000000000,1795944339896095,'semantic','note','profile',0.5,0,'[]','[]',NULL,'[]',NULL,NULL,'tom',NULL,NULL,NULL,'t',NULL,NULL,NULL,NULL,NULL,'Tom lives in Lisbon.',NULL,'person',0);
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
