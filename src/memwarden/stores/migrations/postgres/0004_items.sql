-- Items: JSON values under a path and a key, beside the memories; no journal, no versions (docs/why/langgraph-items.md).

CREATE TABLE memwarden.items (
    tenant     text COLLATE "C" NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL,  -- dotted labels: what is under "a" is "a" and every path that begins with "a."
    key        text COLLATE "C" NOT NULL,
    value      text NOT NULL,              -- JSON, as text: json and jsonb refuse some strings that JSON allows
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ttl        double precision,           -- minutes that it lives after it was last written or refreshed
    expires_at bigint,
    PRIMARY KEY (tenant, namespace, path, key)
);

-- The newest under a path.
CREATE INDEX items_by_time ON memwarden.items (tenant, namespace, path, updated_at);
CREATE INDEX items_by_end ON memwarden.items (tenant, namespace, expires_at) WHERE expires_at IS NOT NULL;

-- Vectors of the texts of an item's fields: bytes (float32, little-endian), as the caller's model gave them.
CREATE TABLE memwarden.item_vectors (
    tenant    text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    path      text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    field     text COLLATE "C" NOT NULL,
    vector    bytea NOT NULL,
    PRIMARY KEY (tenant, namespace, path, key, field)
);

ALTER TABLE memwarden.item_vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

-- The second wall, as for every table (0001).
DO $$
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY ARRAY['items', 'item_vectors'] LOOP
        EXECUTE format('ALTER TABLE memwarden.%I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE memwarden.%I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format(
            'CREATE POLICY one_namespace ON memwarden.%I USING ('
            'tenant = nullif(current_setting(''memwarden.tenant'', true), '''') AND '
            'namespace = nullif(current_setting(''memwarden.namespace'', true), ''''))', one);
    END LOOP;
END
$$;

-- Items may be deleted: nothing refers to one, and a program that deletes one wants it gone.
GRANT SELECT, INSERT, UPDATE, DELETE ON memwarden.items, memwarden.item_vectors TO memwarden_app;
