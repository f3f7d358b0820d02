-- Search within large namespaces: what lets the server find candidates in namespaces that are too large to be held in
-- memory. Below that nothing of this is used. The indexes themselves belong to one namespace each and are made and dropped
-- while memwarden runs (memwarden.stores.postgres.making); the one over vectors needs pgvector, which is asked for then.

-- The words of a row, as recall counts them: its term ids, each as eight hexadecimal digits.
CREATE FUNCTION memwarden.words(terms bytea) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 100 SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN regexp_replace(encode(terms, 'hex'), '(.{8})', '\1 ', 'g')::tsvector;
END
$$;

-- The numbers of a stored vector (float16, little-endian). PostgreSQL knows no such bytes: it takes a tenth of a millisecond.
CREATE FUNCTION memwarden.floats(vector bytea) RETURNS real[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    -- What one unit of the fraction is worth, by the five bits of the exponent, then the same with the sign before them.
    unit float8[] := ARRAY(
        SELECT sign * 2.0::float8 ^ (greatest(exponent, 1) - 25)
        FROM (VALUES (1), (-1)) signs(sign), generate_series(0, 31) exponent ORDER BY sign DESC, exponent);
    numbers real[] := '{}';
    high int;
BEGIN
    FOR place IN 0 .. length(vector) - 2 BY 2 LOOP
        high := get_byte(vector, place + 1);
        numbers := numbers || (
            (CASE WHEN high & 124 = 0 THEN 0 ELSE 1024 END + ((high & 3) << 8) + get_byte(vector, place))
            * unit[(high >> 2) + 1])::real;
    END LOOP;
    RETURN numbers;
END
$$;

-- What is known of a large namespace as a whole: how common each word is, which rows stand for all of them
-- (memwarden.recall.whole). The row is there from when the namespace is made ready, its body when it is.
CREATE TABLE memwarden.digests (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    rev       bigint NOT NULL,  -- revision for which it was made
    body      bytea,            -- null while the indexes are made
    PRIMARY KEY (tenant, namespace)
);

ALTER TABLE memwarden.digests ALTER COLUMN body SET STORAGE EXTERNAL, ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;

CREATE POLICY one_namespace ON memwarden.digests USING (
    tenant = nullif(current_setting('memwarden.tenant', true), '') AND
    namespace = nullif(current_setting('memwarden.namespace', true), ''));

GRANT SELECT, INSERT, UPDATE, DELETE ON memwarden.digests TO memwarden_app;

-- The rows of the transaction's namespace that hold words; numbers of rows, and nothing else of them.
--
-- Under row security no index may answer "@@", which is not leakproof: the server would look at every row first (63 ms
-- instead of 1). So this one function goes past row security, as a role of its own that may read the words of rows and
-- nothing else, and asks for the namespace itself: it takes none as an argument, and without one it finds nothing.
-- The names are written into the statement, quoted, so that the index of that namespace alone can serve it.
CREATE FUNCTION memwarden.rows_with(query text, most bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER ROWS 500 SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tenant text := nullif(current_setting('memwarden.tenant', true), '');
    namespace text := nullif(current_setting('memwarden.namespace', true), '');
BEGIN
    IF tenant IS NULL OR namespace IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT n FROM memwarden.signals WHERE tenant = %L AND namespace = %L '
        'AND memwarden.words(terms) @@ %L::tsquery LIMIT %s', tenant, namespace, query::tsquery, greatest(most, 0));
END
$$;

GRANT USAGE, CREATE ON SCHEMA memwarden TO memwarden_search;
GRANT SELECT (tenant, namespace, n, terms) ON memwarden.signals TO memwarden_search;
CREATE POLICY words ON memwarden.signals FOR SELECT TO memwarden_search USING (true);
REVOKE ALL ON FUNCTION memwarden.rows_with(text, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memwarden.rows_with(text, bigint) TO memwarden_app;
ALTER FUNCTION memwarden.rows_with(text, bigint) OWNER TO memwarden_search;
REVOKE CREATE ON SCHEMA memwarden FROM memwarden_search;
