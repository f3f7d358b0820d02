-- When a task ends, the contents of its items leave with it, earlier ones too (memwarden.records.Put.keep_versions). So the
-- store's role may remove versions of state, and of the namespaces of tasks; all others stay beyond its reach.
DROP POLICY only_state ON memwarden.versions;
CREATE POLICY only_state_and_tasks ON memwarden.versions AS RESTRICTIVE FOR DELETE TO memwarden_app
    USING (channel = 'state' OR namespace LIKE 'task/%');
