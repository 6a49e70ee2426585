-- What roles may do on a log in PostgreSQL. Three, none of them a superuser:
--
--   the owner     makes the schema and brings it up to date; nothing else runs as it
--   the server    records and reads: `cairn serve`, `cairn mcp`, commands. Entries, thoughts, events, snapshots and
--                 briefs it can add and read, never change or delete
--   the redactor  may, besides, erase the texts of a record, with the entry that says so
--
-- `cairn verify` runs as any of them: it needs SELECT alone, and compares each index with its table. To have PostgreSQL look at
-- the pages as well, a superuser installs amcheck and lets the role call it:
--
--   CREATE EXTENSION amcheck SCHEMA public;
--   GRANT EXECUTE ON FUNCTION bt_index_check(regclass, boolean) TO cairn_server;
--   GRANT EXECUTE ON FUNCTION verify_heapam TO cairn_server;
--
-- Once, by whoever runs the database:
--
--   CREATE ROLE cairn_owner LOGIN PASSWORD '…';
--   CREATE ROLE cairn_server LOGIN PASSWORD '…';
--   CREATE ROLE cairn_redactor LOGIN PASSWORD '…';
--   GRANT CREATE ON DATABASE trail TO cairn_owner;
--   REVOKE TEMPORARY ON DATABASE trail FROM PUBLIC;
--
-- Then, and again after every upgrade that changed the schema, as the owner: any command that opens the database for writing,
-- which makes the schema or brings it up to date (`mcp` with nobody to talk to ends at once), and this file:
--
--   CAIRN_DB='postgres://cairn_owner@…/trail' cairn mcp </dev/null
--   psql -v schema=cairn -v server=cairn_server -v redactor=cairn_redactor -f postgres-roles.sql 'postgres://cairn_owner@…/trail'

\set ON_ERROR_STOP on
BEGIN;
SET LOCAL search_path = :"schema";

-- What was given before and is no longer needed goes.
REVOKE ALL ON ALL TABLES IN SCHEMA :"schema" FROM :"server", :"redactor";
GRANT USAGE ON SCHEMA :"schema" TO :"server", :"redactor";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"server", :"redactor";

-- Records are added.
GRANT INSERT ON entry, task, session, thought, roadmap, snapshot, context, event, memory, body, brief, checkpoint, review, seal, token
  TO :"server", :"redactor";

-- Heads move on, checkpoints get signatures, tokens are used and revoked.
GRANT UPDATE (size, root, edge, fence) ON log TO :"server", :"redactor";
GRANT UPDATE (length, head) ON task TO :"server", :"redactor";
GRANT UPDATE (length) ON session, roadmap TO :"server", :"redactor";
GRANT UPDATE (length, newest) ON memory TO :"server", :"redactor";
GRANT UPDATE (note) ON checkpoint TO :"server", :"redactor";
GRANT UPDATE (revoked_at, last_used_at) ON token TO :"server", :"redactor";

-- What is derived from records can be made anew at any time.
GRANT UPDATE (through, documents, words) ON derived TO :"server", :"redactor";
GRANT UPDATE (seq, v, sha256, state) ON fold TO :"server", :"redactor";
GRANT UPDATE (hashes) ON tile TO :"server", :"redactor";
GRANT INSERT, DELETE ON action, search, rag_documents, fold, tile TO :"server", :"redactor";

-- A redaction blanks texts, and a sealed one's key.
GRANT INSERT ON redaction TO :"redactor";
GRANT UPDATE (content, metadata, salt) ON thought TO :"redactor";
GRANT UPDATE (data) ON brief TO :"redactor";
GRANT UPDATE (body, salt) ON event TO :"redactor";
GRANT UPDATE (data, redaction) ON body TO :"redactor";
GRANT UPDATE (metadata, salt) ON context TO :"redactor";
GRANT UPDATE (data) ON snapshot TO :"redactor";
GRANT UPDATE (text, salt) ON review TO :"redactor";
GRANT DELETE ON seal TO :"redactor";
COMMIT;
