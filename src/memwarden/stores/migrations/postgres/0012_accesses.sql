-- When a memory last stood in an answer: what nobody asked for in a long time may expire. It is noted beside the journal,
-- for reading changes nothing of what is remembered. What is there already counts as read when the database is upgraded,
-- so that nothing expires before it was watched for as long as its policy says.
ALTER TABLE memwarden.memories
    ADD COLUMN accessed_at bigint DEFAULT (extract(epoch FROM now()) * 1000000)::bigint;
ALTER TABLE memwarden.memories ALTER COLUMN accessed_at DROP DEFAULT;

-- What could be restored for long enough is purged: its row keeps nothing but the id, and its earlier contents leave. So
-- the store's role may remove versions of purged memories, and as before those of state and of tasks; all others stay
-- beyond its reach.
DROP POLICY only_state_and_tasks ON memwarden.versions;
CREATE POLICY only_what_ends ON memwarden.versions AS RESTRICTIVE FOR DELETE TO memwarden_app
    USING (channel = 'state' OR namespace LIKE 'task/%' OR EXISTS (
        SELECT FROM memwarden.memories m
        WHERE m.tenant = versions.tenant AND m.namespace = versions.namespace AND m.id = versions.id
        AND m.state = 'purged'));
