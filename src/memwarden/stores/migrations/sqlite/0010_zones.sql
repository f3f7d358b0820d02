-- By how many minutes the clock of whoever said it was ahead of UTC: the day on which something was said, and the days
-- that its words name, are theirs. What was stored before counts as said in UTC, as it did.
ALTER TABLE memories ADD COLUMN utc_offset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN utc_offset INTEGER NOT NULL DEFAULT 0;
