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

-- Whatever writes signals of a namespace that is searched, or is being made ready for it, writes its vectors too. It runs
-- with the writer's rights, so under row security; for all other namespaces it is one look at a table of few rows.
CREATE FUNCTION memwarden.keep_vectors() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF EXISTS (SELECT FROM memwarden.digests) THEN
        INSERT INTO memwarden.vectors
            SELECT tenant, namespace, n, memwarden.floats(vector)::{schema}.halfvec FROM fresh
            JOIN memwarden.digests USING (tenant, namespace) WHERE vector IS NOT NULL
            ON CONFLICT (tenant, namespace, n) DO UPDATE SET vector = excluded.vector;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER keep_new_vectors AFTER INSERT ON memwarden.signals
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION memwarden.keep_vectors();
CREATE TRIGGER keep_changed_vectors AFTER UPDATE ON memwarden.signals
    REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION memwarden.keep_vectors();
