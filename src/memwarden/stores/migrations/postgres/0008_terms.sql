-- Terms hold the surface form of a word beside its stem, and languages are told apart by other rules. The number of a
-- namespace's terms (memwarden.text.TERMS_VERSION), and the last memory whose terms were made anew; both are written while
-- the store is opened, a page at a time (memwarden.stores.postgres.terms).
ALTER TABLE memwarden.namespaces ADD COLUMN terms integer NOT NULL DEFAULT 1, ADD COLUMN terms_n bigint NOT NULL DEFAULT 0;
ALTER TABLE memwarden.namespaces ALTER COLUMN terms SET DEFAULT 2;
