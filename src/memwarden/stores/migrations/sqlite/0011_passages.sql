-- How the terms and word pieces of a long text are divided among its passages, and the vectors of all passages but the
-- first (memwarden.records.passages). NULL: a text of one passage.
ALTER TABLE signals ADD COLUMN passages BLOB;
