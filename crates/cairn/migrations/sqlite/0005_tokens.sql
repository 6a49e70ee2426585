-- Who may use the database over HTTP. This is access, not evidence: no entry of the log tells of it, `cairn verify` does
-- not cover it, and no bundle carries it. Of a token itself only its SHA-256 is here.
CREATE TABLE token (
  no           INTEGER PRIMARY KEY,
  id           TEXT    NOT NULL UNIQUE,
  name         TEXT    NOT NULL,
  scope        TEXT    NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  agent_id     TEXT,
  sha256       BLOB    NOT NULL,
  created_at   TEXT    NOT NULL,
  revoked_at   TEXT,
  last_used_at TEXT
) STRICT;
