-- Working memory: what happened in a session, in order. `body` is canonical JSON.
CREATE TABLE event (
  seq             INTEGER PRIMARY KEY,
  session_no      INTEGER NOT NULL,
  position        INTEGER NOT NULL,
  turn            INTEGER NOT NULL,
  kind            TEXT    NOT NULL,
  v               INTEGER NOT NULL,
  created_at      TEXT    NOT NULL,
  body            TEXT,
  idempotency_key TEXT,
  UNIQUE (session_no, position)
) STRICT;

CREATE UNIQUE INDEX event_idempotency_key ON event (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- How many events a session has, and the newest.
CREATE TABLE memory (
  session_no INTEGER PRIMARY KEY,
  length     INTEGER NOT NULL,
  newest     INTEGER NOT NULL
) STRICT;

-- Contents of entities, which events name by digest: each once. `seq` is the first event that names it.
CREATE TABLE body (
  sha256 BLOB    NOT NULL PRIMARY KEY,
  seq    INTEGER NOT NULL,
  data   TEXT
) STRICT;

-- Briefs that were asked to be kept. `data` is canonical JSON: the brief, and what it takes to build it again.
CREATE TABLE brief (
  seq        INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  session_no INTEGER NOT NULL,
  node       TEXT    NOT NULL,
  turn       INTEGER NOT NULL,
  created_at TEXT    NOT NULL,
  hash       BLOB    NOT NULL,
  data       TEXT
) STRICT;

CREATE INDEX brief_session ON brief (session_no, seq);

-- Seat belts against accidents. Against intent there is `cairn verify`.
CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN
  SELECT raise(ABORT, 'events are write-once: they cannot be changed');
END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN
  SELECT raise(ABORT, 'events are write-once: they cannot be deleted');
END;
CREATE TRIGGER memory_only_grows BEFORE UPDATE ON memory
WHEN new.session_no IS NOT old.session_no OR new.length < old.length OR new.newest < old.newest BEGIN
  SELECT raise(ABORT, 'the memory of a session is append-only: it can only grow');
END;
CREATE TRIGGER memory_no_delete BEFORE DELETE ON memory BEGIN
  SELECT raise(ABORT, 'the memory of a session is append-only: it cannot be deleted');
END;
CREATE TRIGGER body_no_update BEFORE UPDATE ON body BEGIN
  SELECT raise(ABORT, 'contents are write-once: they cannot be changed');
END;
CREATE TRIGGER body_no_delete BEFORE DELETE ON body BEGIN
  SELECT raise(ABORT, 'contents are write-once: they cannot be deleted');
END;
CREATE TRIGGER brief_no_update BEFORE UPDATE ON brief BEGIN
  SELECT raise(ABORT, 'briefs are write-once: they cannot be changed');
END;
CREATE TRIGGER brief_no_delete BEFORE DELETE ON brief BEGIN
  SELECT raise(ABORT, 'briefs are write-once: they cannot be deleted');
END;
