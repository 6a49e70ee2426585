-- The schema of a log. What each table is for, and which can be rebuilt from others, also stands in docs/format.md.

-- One row: which log this is, and its head. `edge` holds the complete subtrees along the right edge of the Merkle tree over
-- all records, from left to right: all that an append has to know of the tree.
CREATE TABLE log (
  one    INTEGER PRIMARY KEY CHECK (one = 1),
  origin TEXT    NOT NULL,
  size   INTEGER NOT NULL,
  root   BLOB    NOT NULL,
  edge   BLOB    NOT NULL
) STRICT;

-- Every record stands in one row of one table, at its position in the log: `thought`, `context`, `event`, `brief`,
-- `review`, or here if it says something about the log itself: its beginning, its keys, its redactions, the log it
-- continues. `leaf_hash` is the hash of the record's entry, whose bytes are derived from the row; here they are `leaf`.
CREATE TABLE entry (
  seq       INTEGER PRIMARY KEY,
  kind      TEXT NOT NULL,
  leaf      TEXT NOT NULL,
  leaf_hash BLOB NOT NULL
) STRICT;

-- Derived: interior nodes of the Merkle tree over all records, 256 hashes to a tile. Tile `idx` of level `t` holds the nodes of
-- level 8 t from `256 idx` on. Whatever no tile holds is computed from leaf hashes.
CREATE TABLE tile (
  level  INTEGER NOT NULL,
  idx    INTEGER NOT NULL,
  hashes BLOB    NOT NULL,
  PRIMARY KEY (level, idx)
) STRICT;

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

-- No writer can fork a chain: `position` and `step_index` are counted inside the immediate transaction that moves
-- the head of the log, and `seq` is the primary key. `task_thought` and `session_thought` find the thoughts of a task or
-- session. Ids are ordered by time, so no index here is filled at random places and appending does not slow down as the
-- file grows. A list is one canonical JSON array, and NULL if it is empty.
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
  leaf_hash       BLOB    NOT NULL
) STRICT;

CREATE UNIQUE INDEX thought_idempotency_key ON thought (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Derived, and caught up in chunks. `chained` is the last entry that `task_thought`, `session_thought` and `tile` cover: an
-- append catches them up when they are 1,024 entries behind. `through` is the last entry that the others cover. `segments`
-- and `rag_segments` are the hashes of the two search indexes' own lists of their parts.
CREATE TABLE derived (
  one          INTEGER PRIMARY KEY CHECK (one = 1),
  chained      INTEGER NOT NULL,
  through      INTEGER NOT NULL,
  segments     BLOB    NOT NULL,
  rag_segments BLOB    NOT NULL
) STRICT;

-- The thoughts of each task and of each session, in order. A batch of appends touches a page of these for every task and
-- session in it, so they are filled for many batches at once; readers scan the few newer thoughts.
CREATE TABLE task_thought (
  task_no  INTEGER NOT NULL,
  position INTEGER NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (task_no, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_thought (
  session_no INTEGER NOT NULL,
  step_index INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  PRIMARY KEY (session_no, step_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE action (
  action_id TEXT    NOT NULL,
  seq       INTEGER NOT NULL,
  PRIMARY KEY (action_id, seq)
) STRICT, WITHOUT ROWID;

-- `scope` holds words that no text contains, one each for session, task and type, so that a filter narrows
-- the search instead of following it.
-- Sealed contents are not searchable: their words would stand in the index in the clear.
CREATE VIEW search_source (seq, content, metadata, scope) AS
  SELECT seq, iif(content GLOB 'sealed:v1:*', NULL, content), metadata,
    's' || session_no || ' t' || task_no || ' k' || type
  FROM thought WHERE seq <= (SELECT through FROM derived);

CREATE VIRTUAL TABLE search USING fts5 (
  content, metadata, scope,
  content = 'search_source', content_rowid = 'seq', tokenize = "unicode61 remove_diacritics 2"
);

-- For people with an SQLite shell: the records as Cairn shows them.
CREATE VIEW record AS
  SELECT t.seq, t.id, t.type, k.name AS task_id, t.position, s.name AS session_id, t.step_index,
         p.id AS parent_id, t.agent_id, t.action_id, t.context_id, t.brief_id, t.supersedes, t.rejects, t.applies_to,
         t.source, t.timestamp, t.content, t.metadata, lower(hex(t.prev_hash)) AS prev_hash, lower(hex(t.hash)) AS hash,
         lower(hex(t.content_hash)) AS content_hash, lower(hex(t.chain_hash)) AS chain_hash,
         lower(hex(t.leaf_hash)) AS leaf_hash
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
       LEFT JOIN thought p ON p.seq = t.parent_seq;

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
  seq         INTEGER PRIMARY KEY,
  id          INTEGER NOT NULL UNIQUE,
  roadmap_no  INTEGER NOT NULL,
  position    INTEGER NOT NULL,
  snapshot_no INTEGER NOT NULL,
  node_count  INTEGER NOT NULL,
  created_at  TEXT    NOT NULL,
  metadata    TEXT,
  salt        BLOB,
  leaf_hash   BLOB    NOT NULL,
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

-- Working memory: what happened in a session, in order. `body` is canonical JSON; with `salt` it gives the commitment
-- that stands for it in the log.
CREATE TABLE event (
  seq             INTEGER PRIMARY KEY,
  session_no      INTEGER NOT NULL,
  position        INTEGER NOT NULL,
  turn            INTEGER NOT NULL,
  kind            TEXT    NOT NULL,
  v               INTEGER NOT NULL,
  created_at      TEXT    NOT NULL,
  body            TEXT,
  salt            BLOB,
  idempotency_key TEXT,
  leaf_hash       BLOB    NOT NULL,
  UNIQUE (session_no, position)
) STRICT;

CREATE UNIQUE INDEX event_idempotency_key ON event (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- How many events a session has, and the newest.
CREATE TABLE memory (
  session_no INTEGER PRIMARY KEY,
  length     INTEGER NOT NULL,
  newest     INTEGER NOT NULL
) STRICT;

-- Contents of entities, which events name by digest: each once. `seq` is the first event that names it, `redaction` the
-- entry that says why `data` is gone.
CREATE TABLE body (
  sha256    BLOB    NOT NULL PRIMARY KEY,
  seq       INTEGER NOT NULL,
  data      TEXT,
  redaction INTEGER
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
  data       TEXT,
  leaf_hash  BLOB    NOT NULL
) STRICT;

CREATE INDEX brief_session ON brief (session_no, seq);

-- Statements about the log: at this size it had this root. `note` is a C2SP signed note, or only its text where no
-- key was at hand.
CREATE TABLE checkpoint (
  size INTEGER PRIMARY KEY,
  note TEXT NOT NULL
) STRICT;

-- What was blanked, and the log entry that says by whom, when and why.
CREATE TABLE redaction (
  seq        INTEGER PRIMARY KEY,
  target_seq INTEGER NOT NULL UNIQUE
) STRICT;

-- Reviews of thoughts and briefs. `salt` keeps the text from being guessed from its commitment in the log.
CREATE TABLE review (
  seq         INTEGER PRIMARY KEY,
  id          TEXT    NOT NULL UNIQUE,
  target_kind TEXT    NOT NULL,
  target_id   TEXT    NOT NULL,
  target_seq  INTEGER NOT NULL,
  verdict     TEXT    NOT NULL,
  actor       TEXT    NOT NULL,
  created_at  TEXT    NOT NULL,
  text        TEXT,
  salt        BLOB,
  leaf_hash   BLOB    NOT NULL
) STRICT;
CREATE INDEX review_target ON review (target_id, seq);

-- Keys of sealed contents, by the thought they open. Without its key a content is gone, and every hash still stands.
CREATE TABLE seal (
  seq INTEGER PRIMARY KEY,
  key BLOB NOT NULL
) STRICT;

-- States of long sessions: what folding a session's events up to the one at `seq` gives, in form `v`. Nothing that is
-- not in `event`; `sha256` is over all of it, so that damage is not taken for a state.
CREATE TABLE fold (
  session_no INTEGER PRIMARY KEY,
  seq        INTEGER NOT NULL,
  v          INTEGER NOT NULL,
  sha256     BLOB    NOT NULL,
  state      TEXT    NOT NULL
) STRICT;

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

-- Seat belts against accidents. Against intent there is `cairn verify`.
-- A thought cannot be changed, but for being blanked by a redaction that stands in the log. A sealed content
-- stays, and so do all its hashes: what goes is its key.
CREATE TRIGGER thought_no_update BEFORE UPDATE ON thought
WHEN (new.content IS NOT NULL AND NOT (new.content IS old.content AND old.content GLOB 'sealed:v1:*'))
  OR new.metadata IS NOT NULL OR new.salt IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.id, new.type, new.task_no, new.position, new.session_no, new.step_index, new.agent_id, new.timestamp,
      new.prev_hash, new.hash, new.content_hash, new.chain_hash, new.leaf_hash)
    IS NOT (old.seq, old.id, old.type, old.task_no, old.position, old.session_no, old.step_index, old.agent_id,
      old.timestamp, old.prev_hash, old.hash, old.content_hash, old.chain_hash,
      old.leaf_hash)
  OR (new.parent_seq, new.action_id, new.context_id, new.brief_id, new.idempotency_key)
    IS NOT (old.parent_seq, old.action_id, old.context_id, old.brief_id, old.idempotency_key)
  OR (new.supersedes, new.rejects, new.applies_to, new.source)
    IS NOT (old.supersedes, old.rejects, old.applies_to, old.source)
BEGIN
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
-- A redaction takes the content of a snapshot from every context that shares it, and their metadata.
CREATE TRIGGER context_no_update BEFORE UPDATE ON context
WHEN new.metadata IS NOT NULL OR new.salt IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.id, new.roadmap_no, new.position, new.snapshot_no, new.node_count, new.created_at, new.leaf_hash)
    IS NOT (old.seq, old.id, old.roadmap_no, old.position, old.snapshot_no, old.node_count, old.created_at, old.leaf_hash)
BEGIN
  SELECT raise(ABORT, 'snapshots are write-once: they cannot be changed');
END;
CREATE TRIGGER context_no_delete BEFORE DELETE ON context BEGIN
  SELECT raise(ABORT, 'snapshots are write-once: they cannot be deleted');
END;
CREATE TRIGGER snapshot_no_update BEFORE UPDATE ON snapshot
WHEN new.data IS NOT NULL OR (new.no, new.content_hash) IS NOT (old.no, old.content_hash)
  OR NOT EXISTS (SELECT 1 FROM redaction r JOIN context c ON c.seq = r.target_seq WHERE c.snapshot_no = old.no)
BEGIN
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
-- An event keeps its structure: a redaction puts a body without texts in the place of its own, and takes the salt.
CREATE TRIGGER event_no_update BEFORE UPDATE ON event
WHEN new.body IS NULL OR new.salt IS NOT NULL OR old.salt IS NULL
  OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.session_no, new.position, new.turn, new.kind, new.v, new.created_at, new.idempotency_key,
      new.leaf_hash)
    IS NOT (old.seq, old.session_no, old.position, old.turn, old.kind, old.v, old.created_at, old.idempotency_key,
      old.leaf_hash)
BEGIN
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
-- A content that several events may share names the redaction that took it.
CREATE TRIGGER body_no_update BEFORE UPDATE ON body
WHEN new.data IS NOT NULL OR old.redaction IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM redaction WHERE seq = new.redaction)
  OR (new.sha256, new.seq) IS NOT (old.sha256, old.seq)
BEGIN
  SELECT raise(ABORT, 'contents are write-once: they cannot be changed');
END;
CREATE TRIGGER body_no_delete BEFORE DELETE ON body BEGIN
  SELECT raise(ABORT, 'contents are write-once: they cannot be deleted');
END;
-- But for being blanked by a redaction, since it repeats what others said.
CREATE TRIGGER brief_no_update BEFORE UPDATE ON brief
WHEN new.data IS NOT NULL OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.id, new.session_no, new.node, new.turn, new.created_at, new.hash, new.leaf_hash)
    IS NOT (old.seq, old.id, old.session_no, old.node, old.turn, old.created_at, old.hash, old.leaf_hash)
BEGIN
  SELECT raise(ABORT, 'briefs are write-once: they cannot be changed');
END;
CREATE TRIGGER brief_no_delete BEFORE DELETE ON brief BEGIN
  SELECT raise(ABORT, 'briefs are write-once: they cannot be deleted');
END;
CREATE TRIGGER checkpoint_no_update BEFORE UPDATE ON checkpoint
WHEN new.size IS NOT old.size OR substr(new.note, 1, length(old.note)) IS NOT old.note BEGIN
  SELECT raise(ABORT, 'checkpoints are write-once: only signatures can be added');
END;
CREATE TRIGGER checkpoint_no_delete BEFORE DELETE ON checkpoint BEGIN
  SELECT raise(ABORT, 'checkpoints are write-once: they cannot be deleted');
END;
CREATE TRIGGER redaction_no_update BEFORE UPDATE ON redaction BEGIN
  SELECT raise(ABORT, 'redactions are write-once: they cannot be changed');
END;
CREATE TRIGGER redaction_no_delete BEFORE DELETE ON redaction BEGIN
  SELECT raise(ABORT, 'redactions are write-once: they cannot be deleted');
END;
CREATE TRIGGER review_no_update BEFORE UPDATE ON review
WHEN new.text IS NOT NULL OR new.salt IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.id, new.target_kind, new.target_id, new.target_seq, new.verdict, new.actor, new.created_at,
      new.leaf_hash)
    IS NOT (old.seq, old.id, old.target_kind, old.target_id, old.target_seq, old.verdict, old.actor, old.created_at,
      old.leaf_hash)
BEGIN
  SELECT raise(ABORT, 'reviews are write-once: they cannot be changed');
END;
CREATE TRIGGER review_no_delete BEFORE DELETE ON review BEGIN
  SELECT raise(ABORT, 'reviews are write-once: they cannot be deleted');
END;
CREATE TRIGGER seal_no_update BEFORE UPDATE ON seal BEGIN
  SELECT raise(ABORT, 'the keys of sealed contents are write-once: they cannot be changed');
END;
CREATE TRIGGER seal_no_delete BEFORE DELETE ON seal
WHEN NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq) BEGIN
  SELECT raise(ABORT, 'the key of a sealed content is deleted by a redaction alone');
END;
