-- Roadmaps of which there are snapshots; `length` is how many.
CREATE TABLE roadmap (
  no     INTEGER PRIMARY KEY,
  name   TEXT    NOT NULL UNIQUE,
  length INTEGER NOT NULL
) STRICT;

-- What was frozen, by its hash: the same content stands here once, however many contexts point to it.
CREATE TABLE snapshot (
  no           INTEGER PRIMARY KEY,
  content_hash BLOB    NOT NULL UNIQUE,
  data         TEXT
) STRICT;

-- The unique positions make a fork impossible, as they do for thoughts.
CREATE TABLE context (
  id          INTEGER PRIMARY KEY,
  seq         INTEGER NOT NULL UNIQUE,
  roadmap_no  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  snapshot_no INTEGER NOT NULL,
  node_count  INTEGER NOT NULL,
  created_at  TEXT    NOT NULL,
  metadata    TEXT,
  salt        BLOB,
  UNIQUE (roadmap_no, position)
) STRICT;

-- For drift: the few thoughts that name a snapshot, without looking at all the others.
CREATE INDEX thought_context ON thought (context_id) WHERE context_id IS NOT NULL;

-- Derived: the nodes of the newest snapshot of each roadmap, one document each, in the order of the snapshot.
CREATE TABLE rag_documents (
  no          INTEGER PRIMARY KEY,
  roadmap_no  INTEGER NOT NULL,
  snapshot_no INTEGER NOT NULL,
  node        TEXT    NOT NULL
) STRICT;

CREATE INDEX rag_documents_roadmap ON rag_documents (roadmap_no);

CREATE VIEW rag_source (no, id, label, scope, phase) AS
  SELECT no, node ->> 'id', node ->> 'label', node ->> 'scope', node ->> 'phase' FROM rag_documents;

CREATE VIRTUAL TABLE rag_search USING fts5 (
  id, label, scope, phase,
  content = 'rag_source', content_rowid = 'no', tokenize = "unicode61 remove_diacritics 2"
);

-- The hash of that index's own list of its parts, as `segments` is of the other's.
ALTER TABLE derived ADD COLUMN rag_segments BLOB NOT NULL DEFAULT x'';

-- Seat belts against accidents. Against intent there is `cairn verify`.
CREATE TRIGGER context_no_update BEFORE UPDATE ON context BEGIN
  SELECT raise(ABORT, 'snapshots are write-once: they cannot be changed');
END;
CREATE TRIGGER context_no_delete BEFORE DELETE ON context BEGIN
  SELECT raise(ABORT, 'snapshots are write-once: they cannot be deleted');
END;
CREATE TRIGGER snapshot_no_update BEFORE UPDATE ON snapshot BEGIN
  SELECT raise(ABORT, 'snapshots are write-once: they cannot be changed');
END;
CREATE TRIGGER snapshot_no_delete BEFORE DELETE ON snapshot BEGIN
  SELECT raise(ABORT, 'snapshots are write-once: they cannot be deleted');
END;
CREATE TRIGGER roadmap_only_grows BEFORE UPDATE ON roadmap
WHEN new.no IS NOT old.no OR new.name IS NOT old.name OR new.length < old.length BEGIN
  SELECT raise(ABORT, 'the snapshots of a roadmap are append-only: they can only grow in number');
END;
CREATE TRIGGER roadmap_no_delete BEFORE DELETE ON roadmap BEGIN
  SELECT raise(ABORT, 'the snapshots of a roadmap are append-only: it cannot be deleted');
END;
