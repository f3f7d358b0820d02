-- Calls of each caller of the servers, for rate limits that all server processes share. A row counts the present period
-- and the one before it. Counts are not worth a wait for the disk, and expired rows are removed.
CREATE TABLE memwarden.call_counts (
    tenant     text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    counter    text COLLATE "C" NOT NULL,
    period     bigint NOT NULL,  -- number of the period since 1970; its length belongs to the counter, and the clock is the database's
    calls      bigint NOT NULL,
    earlier    bigint NOT NULL,  -- calls of the period before
    expires_at bigint NOT NULL,  -- microseconds since 1970
    PRIMARY KEY (tenant, namespace, counter)
) WITH (fillfactor = 50);

-- The second wall, as for every table (0001).
ALTER TABLE memwarden.call_counts ENABLE ROW LEVEL SECURITY;
ALTER TABLE memwarden.call_counts FORCE ROW LEVEL SECURITY;
CREATE POLICY one_namespace ON memwarden.call_counts USING (
    tenant = nullif(current_setting('memwarden.tenant', true), '') AND
    namespace = nullif(current_setting('memwarden.namespace', true), ''));

GRANT SELECT, INSERT, UPDATE, DELETE ON memwarden.call_counts TO memwarden_app;
