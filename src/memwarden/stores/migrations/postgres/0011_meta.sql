-- What the whole database is bound to is written by the login that owns it: no transaction of the store's role may say
-- that the vectors are of another model, that the terms are up to date, or how often somebody was erased.

REVOKE INSERT ON memwarden.meta FROM memwarden_app;
