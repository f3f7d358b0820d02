-- The vectors of large namespaces, for pgvector to index. Made when the first namespace becomes large; {schema} is where
-- pgvector lies. A table of its own: the column of the signals is bytes, for which no extension is needed.
CREATE TABLE memwarden.vectors (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    n         bigint NOT NULL,
    vector    {schema}.halfvec NOT NULL,
    PRIMARY KEY (tenant, namespace, n)
);

ALTER TABLE memwarden.vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE memwarden.vectors FORCE ROW LEVEL SECURITY;

CREATE POLICY one_namespace ON memwarden.vectors USING (
    tenant = nullif(current_setting('memwarden.tenant', true), '') AND
    namespace = nullif(current_setting('memwarden.namespace', true), ''));

GRANT SELECT, INSERT, UPDATE, DELETE ON memwarden.vectors TO memwarden_app;
