-- By how many minutes the clock of whoever said it was ahead of UTC: the day on which something was said, and the days
-- that its words name, are theirs. What was stored before counts as said in UTC, as it did.
ALTER TABLE memwarden.memories ADD COLUMN utc_offset bigint NOT NULL DEFAULT 0;
ALTER TABLE memwarden.versions ADD COLUMN utc_offset bigint NOT NULL DEFAULT 0;
