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
