-- Epoch of a new namespace: no cache may know it from an erased namespace of the same name. A function, because Citus
-- takes no subquery among the values of an INSERT, and computes functions before it sends them to a node.
CREATE FUNCTION memwarden.first_epoch() RETURNS bigint
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (SELECT coalesce(max(value::bigint), 0) FROM memwarden.meta WHERE key = 'erasures');
END
$$;
