-- Operational events (B14): what was done, without content. A stream beside the journal, written in transactions of its
-- own that lock no namespace's row.

-- In the order of time within a namespace, which is how they are read and removed. id is a UUIDv7.
CREATE TABLE memwarden.events (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    ts        bigint NOT NULL,
    id        text COLLATE "C" NOT NULL,
    node      text COLLATE "C" NOT NULL,
    op        text COLLATE "C" NOT NULL,
    status    text COLLATE "C" NOT NULL,
    user_id   text COLLATE "C",
    agent_id  text COLLATE "C",
    thread_id text COLLATE "C",
    memory_id text COLLATE "C",
    category  text COLLATE "C",
    sim       double precision,
    rev       bigint,
    ms        double precision,
    count     bigint NOT NULL,
    reason    text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, namespace, ts, id)
);

ALTER TABLE memwarden.events ENABLE ROW LEVEL SECURITY;
ALTER TABLE memwarden.events FORCE ROW LEVEL SECURITY;
CREATE POLICY one_namespace ON memwarden.events USING (
    tenant = nullif(current_setting('memwarden.tenant', true), '') AND
    namespace = nullif(current_setting('memwarden.namespace', true), ''));

-- The only rows that the store's role may remove: those of one namespace that are too old or too many.
GRANT SELECT, INSERT, DELETE ON memwarden.events TO memwarden_app;
