-- Search within large namespaces on Citus. There the vectors of large namespaces are kept by this function, which a writer
-- calls after it wrote signals, because Citus runs no trigger on a distributed table. The coordinator runs it, so it asks
-- the node of the namespace. Without a large namespace it is one look into a catalogue.
-- The role that searches words logs in to the nodes: memwarden.stores.postgres.citus lets it.
CREATE OR REPLACE FUNCTION memwarden.keep_vectors_of(numbers bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant text := nullif(current_setting('memwarden.tenant', true), '');
    namespace text := nullif(current_setting('memwarden.namespace', true), '');
    large boolean;
BEGIN
    IF to_regclass('memwarden.vectors') IS NULL OR tenant IS NULL OR namespace IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('SELECT true FROM memwarden.digests WHERE tenant = %L AND namespace = %L', tenant, namespace) INTO large;
    IF large THEN
        EXECUTE (
            SELECT format(
                'INSERT INTO memwarden.vectors (tenant, namespace, n, vector) '
                'SELECT tenant, namespace, n, memwarden.floats(vector)::%I.halfvec FROM memwarden.signals '
                'WHERE tenant = %L AND namespace = %L AND n = ANY(%L::bigint[]) AND vector IS NOT NULL '
                'ON CONFLICT (tenant, namespace, n) DO UPDATE SET vector = excluded.vector',
                nspname, tenant, namespace, numbers)
            FROM pg_extension e JOIN pg_namespace s ON s.oid = extnamespace WHERE extname = 'vector');
    END IF;
END
$$;
