#!/bin/sh
# Run once by the image of PostgreSQL, on an empty volume: makes the database and the login that memwarden uses.
# The login owns its schema. It is not a superuser, so row security holds for it.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$MEMWARDEN_PASSWORD" --username "$POSTGRES_USER" --dbname postgres <<'SQL'
CREATE ROLE memwarden_app NOLOGIN;
CREATE ROLE memwarden_search NOLOGIN;
CREATE ROLE memwarden LOGIN PASSWORD :'password' IN ROLE memwarden_app;
GRANT memwarden_search TO memwarden WITH INHERIT FALSE;
CREATE DATABASE memwarden OWNER memwarden;
\connect memwarden
CREATE EXTENSION vector;
SQL
