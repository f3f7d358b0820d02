-- Terms hold the surface form of a word beside its stem, and languages are told apart by other rules. The number of the
-- terms (memwarden.text.signals) stands under 'terms', and how far they were made anew under 'terms_row'; both are
-- written while the store is opened, a page at a time (memwarden.stores.sqlite.upgrade).
DELETE FROM meta WHERE key IN ('terms', 'terms_row');
