-- What is written again and again under one id (state by key, sessions) keeps the last of its earlier contents; the others
-- are removed with the next write (memwarden.records.Put.keep_versions). So the store's role may remove versions, and of
-- those only what was state: earlier contents of everything else stay beyond its reach.
GRANT DELETE ON memwarden.versions TO memwarden_app;

CREATE POLICY only_state ON memwarden.versions AS RESTRICTIVE FOR DELETE TO memwarden_app USING (channel = 'state');
