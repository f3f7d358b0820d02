-- A forgotten memory goes on covering the turns that it rested on when it is purged, so that what rests on turns in a
-- large namespace counts those that are purged as well: of them nothing is left but which turns they rested on.
-- It is dropped first: only who has the rights of its owner may replace it, and an owner of the schema may drop it.
GRANT CREATE ON SCHEMA memwarden TO memwarden_search;
DROP FUNCTION memwarden.rows_resting(bigint[]);
CREATE FUNCTION memwarden.rows_resting(turns bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER ROWS 100 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant text := nullif(current_setting('memwarden.tenant', true), '');
    namespace text := nullif(current_setting('memwarden.namespace', true), '');
    ids text[];
    keys text[];
    threads text[];
BEGIN
    IF tenant IS NULL OR namespace IS NULL THEN
        RETURN;
    END IF;
    EXECUTE 'SELECT array_agg(DISTINCT m.id), array_agg(DISTINCT key), array_agg(DISTINCT m.thread_id) '
        'FROM memwarden.memories m LEFT JOIN unnest(m.sources) key ON true '
        'WHERE m.tenant = $1 AND m.namespace = $2 AND m.channel = ''turn'' AND m.n = ANY($3)'
        INTO ids, keys, threads USING tenant, namespace, turns;
    -- A caller's own ids are known in their thread alone, those of memories everywhere.
    RETURN QUERY EXECUTE format(
        'SELECT n FROM memwarden.memories WHERE tenant = %1$L AND namespace = %2$L AND channel <> ''turn'' '
        'AND state IN (''active'', ''soft_deleted'', ''purged'') AND sources && %3$L::text[] '
        'UNION SELECT n FROM memwarden.memories WHERE tenant = %1$L AND namespace = %2$L AND channel <> ''turn'' '
        'AND state IN (''active'', ''soft_deleted'', ''purged'') AND sources && %4$L::text[] '
        'AND coalesce(thread_id, ''default'') = ANY(%5$L::text[]) ORDER BY n DESC LIMIT 1000',
        tenant, namespace, coalesce(ids, '{}'), coalesce(keys, '{}'), coalesce(threads, '{}'));
END
$$;
REVOKE ALL ON FUNCTION memwarden.rows_resting(bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memwarden.rows_resting(bigint[]) TO memwarden_app;
ALTER FUNCTION memwarden.rows_resting(bigint[]) OWNER TO memwarden_search;
REVOKE CREATE ON SCHEMA memwarden FROM memwarden_search;
