-- What a text states, beside its other signals: who has which value of which attribute (memwarden.statements). NULL: not
-- read. Rows of earlier schemas are read when their vectors are made anew.
ALTER TABLE memwarden.signals ADD COLUMN statements bytea;
ALTER TABLE memwarden.signals ALTER COLUMN statements SET STORAGE EXTERNAL;
