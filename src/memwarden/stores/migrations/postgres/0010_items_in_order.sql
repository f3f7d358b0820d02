-- The newest items first, as a search without a text wants them: it reads until it has enough, and sorts nothing.
-- The index that begins with the path tempted the planner to read a whole namespace for a single item.

DROP INDEX memwarden.items_by_time;
CREATE INDEX items_in_order ON memwarden.items (tenant, namespace, updated_at DESC, path, key);
