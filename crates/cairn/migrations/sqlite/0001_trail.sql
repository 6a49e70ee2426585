-- One row: which log this is, and its head.
CREATE TABLE log (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  origin TEXT    NOT NULL,
  size   INTEGER NOT NULL,
  root   BLOB    NOT NULL
) STRICT;

-- Everything recorded, in order. `leaf` holds the exact bytes that were hashed.
CREATE TABLE entry (
  seq  INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  leaf BLOB NOT NULL,
  hash BLOB NOT NULL
) STRICT;

-- Interior nodes of the Merkle tree over `entry`; level 0 is `entry.hash`.
CREATE TABLE node (
  level INTEGER NOT NULL,
  idx   INTEGER NOT NULL,
  hash  BLOB    NOT NULL,
  PRIMARY KEY (level, idx)
) STRICT, WITHOUT ROWID;

-- Labels stand here once; thoughts refer to them by number. `head` is the newest link of the task's chain.
CREATE TABLE task (
  no     INTEGER PRIMARY KEY,
  name   TEXT    NOT NULL UNIQUE,
  length INTEGER NOT NULL,
  head   BLOB    NOT NULL
) STRICT;

CREATE TABLE session (
  no     INTEGER PRIMARY KEY,
  name   TEXT    NOT NULL UNIQUE,
  length INTEGER NOT NULL
) STRICT;

-- The unique positions make a fork impossible, whoever writes. Ids are ordered by time, so no index here
-- is filled at random places and appending does not slow down as the file grows. A list is one canonical JSON array,
-- and NULL if it is empty.
CREATE TABLE thought (
  seq             INTEGER PRIMARY KEY,
  id              TEXT    NOT NULL UNIQUE,
  type            TEXT    NOT NULL,
  task_no         INTEGER NOT NULL,
  position        INTEGER NOT NULL,
  session_no      INTEGER NOT NULL,
  step_index      INTEGER NOT NULL,
  parent_seq      INTEGER,
  agent_id        TEXT    NOT NULL,
  action_id       TEXT,
  context_id      INTEGER,
  brief_id        TEXT,
  supersedes      TEXT,
  rejects         TEXT,
  applies_to      TEXT,
  source          TEXT    NOT NULL,
  timestamp       TEXT    NOT NULL,
  content         TEXT,
  metadata        TEXT,
  salt            BLOB,
  idempotency_key TEXT,
  prev_hash       BLOB    NOT NULL,
  hash            BLOB    NOT NULL,
  content_hash    BLOB    NOT NULL,
  chain_hash      BLOB    NOT NULL,
  UNIQUE (task_no, position),
  UNIQUE (session_no, step_index)
) STRICT;

CREATE UNIQUE INDEX thought_idempotency_key ON thought (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Derived, and caught up in chunks: `through` is the last entry they cover, `segments` the hash of the
-- search index's own list of its parts.
CREATE TABLE derived (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  through  INTEGER NOT NULL,
  segments BLOB    NOT NULL
) STRICT;

CREATE TABLE action (
  action_id TEXT    NOT NULL,
  seq       INTEGER NOT NULL,
  PRIMARY KEY (action_id, seq)
) STRICT, WITHOUT ROWID;

-- `scope` holds words that no text contains, one each for session, task and type, so that a filter narrows
-- the search instead of following it.
CREATE VIEW search_source (seq, content, metadata, scope) AS
  SELECT seq, content, metadata, 's' || session_no || ' t' || task_no || ' k' || type
  FROM thought WHERE seq <= (SELECT through FROM derived);

CREATE VIRTUAL TABLE search USING fts5 (
  content, metadata, scope,
  content = 'search_source', content_rowid = 'seq', tokenize = "unicode61 remove_diacritics 2"
);

-- For people with an SQLite shell: the records as Cairn shows them.
CREATE VIEW record AS
  SELECT t.seq, t.id, t.type, k.name AS task_id, t.position, s.name AS session_id, t.step_index,
         p.id AS parent_id, t.agent_id, t.action_id, t.context_id, t.brief_id, t.supersedes, t.rejects,
         t.applies_to, t.source, t.timestamp, t.content, t.metadata, lower(hex(t.prev_hash)) AS prev_hash, lower(hex(t.hash)) AS hash,
         lower(hex(t.content_hash)) AS content_hash, lower(hex(t.chain_hash)) AS chain_hash
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
       LEFT JOIN thought p ON p.seq = t.parent_seq;

-- Seat belts against accidents. Against intent there is `cairn verify`.
CREATE TRIGGER thought_no_update BEFORE UPDATE ON thought BEGIN
  SELECT raise(ABORT, 'thoughts are write-once: record a reflection that corrects it instead');
END;
CREATE TRIGGER thought_no_delete BEFORE DELETE ON thought BEGIN
  SELECT raise(ABORT, 'thoughts are write-once: they cannot be deleted');
END;
CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN
  SELECT raise(ABORT, 'the log is append-only: its entries cannot be changed');
END;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN
  SELECT raise(ABORT, 'the log is append-only: its entries cannot be deleted');
END;
CREATE TRIGGER node_no_update BEFORE UPDATE ON node BEGIN
  SELECT raise(ABORT, 'the log is append-only: nodes of its tree cannot be changed');
END;
CREATE TRIGGER node_no_delete BEFORE DELETE ON node BEGIN
  SELECT raise(ABORT, 'the log is append-only: nodes of its tree cannot be deleted');
END;
CREATE TRIGGER log_only_grows BEFORE UPDATE ON log
WHEN new.one IS NOT old.one OR new.origin IS NOT old.origin OR new.size < old.size BEGIN
  SELECT raise(ABORT, 'the log is append-only: it can only grow');
END;
CREATE TRIGGER log_no_delete BEFORE DELETE ON log BEGIN
  SELECT raise(ABORT, 'the log is append-only: its head cannot be deleted');
END;
CREATE TRIGGER task_only_grows BEFORE UPDATE ON task
WHEN new.no IS NOT old.no OR new.name IS NOT old.name OR new.length < old.length BEGIN
  SELECT raise(ABORT, 'a task is append-only: it can only grow');
END;
CREATE TRIGGER task_no_delete BEFORE DELETE ON task BEGIN
  SELECT raise(ABORT, 'a task is append-only: it cannot be deleted');
END;
CREATE TRIGGER session_only_grows BEFORE UPDATE ON session
WHEN new.no IS NOT old.no OR new.name IS NOT old.name OR new.length < old.length BEGIN
  SELECT raise(ABORT, 'a session is append-only: it can only grow');
END;
CREATE TRIGGER session_no_delete BEFORE DELETE ON session BEGIN
  SELECT raise(ABORT, 'a session is append-only: it cannot be deleted');
END;
