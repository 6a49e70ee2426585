-- The tables of a log, in a schema of their own; the search path leads there. What each is for, and why no index on the
-- way of an append is filled at random places, stands in migrations/sqlite; here is what PostgreSQL needs of it.

-- One row: which log this is, and its head. Whoever appends locks it first: a log has one end. `fence` grows when a server
-- had to look up what became of a commit that it had no answer to. What it sent before names the old fence, and should it
-- arrive after all, it finds another one and writes nothing.
CREATE TABLE log (
  one    INT    PRIMARY KEY CHECK (one = 1),
  origin TEXT   NOT NULL,
  size   BIGINT NOT NULL,
  root   BYTEA  NOT NULL,
  edge   BYTEA  NOT NULL,
  fence  BIGINT NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Every record stands in one row of one table, at its position in the log: `thought`, `context`, `event`, `brief`,
-- `review`, or here if it says something about the log itself: its beginning, its keys, its redactions, the log it
-- continues. `leaf_hash` is the hash of the record's entry, whose bytes are derived from the row; here they are `leaf`.
CREATE TABLE entry (
  seq       BIGINT PRIMARY KEY,
  kind      TEXT  NOT NULL,
  leaf      TEXT  NOT NULL,
  leaf_hash BYTEA NOT NULL
);

CREATE TABLE tile (
  level  INT    NOT NULL,
  idx    BIGINT NOT NULL,
  hashes BYTEA  NOT NULL,
  PRIMARY KEY (level, idx)
);

-- Numbers are given by whoever holds the log's head, as positions are. Labels are compared byte by byte, whatever the
-- language of the server.
CREATE TABLE task (
  no     BIGINT PRIMARY KEY,
  name   TEXT   COLLATE "C" NOT NULL UNIQUE,
  length BIGINT NOT NULL,
  head   BYTEA  NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE session (
  no     BIGINT PRIMARY KEY,
  name   TEXT   COLLATE "C" NOT NULL UNIQUE,
  length BIGINT NOT NULL
) WITH (fillfactor = 80);

-- A list is one canonical JSON array, and NULL if it is empty.
CREATE TABLE thought (
  seq             BIGINT PRIMARY KEY,
  id              TEXT   COLLATE "C" NOT NULL UNIQUE,
  type            TEXT   NOT NULL,
  task_no         BIGINT NOT NULL,
  position        BIGINT NOT NULL,
  session_no      BIGINT NOT NULL,
  step_index      BIGINT NOT NULL,
  parent_seq      BIGINT,
  agent_id        TEXT   NOT NULL,
  action_id       TEXT,
  context_id      BIGINT,
  brief_id        TEXT,
  supersedes      TEXT,
  rejects         TEXT,
  applies_to      TEXT,
  source          TEXT   NOT NULL,
  timestamp       TEXT   NOT NULL,
  content         TEXT,
  metadata        TEXT,
  salt            BYTEA,
  idempotency_key TEXT   COLLATE "C",
  prev_hash       BYTEA  NOT NULL,
  hash            BYTEA  NOT NULL,
  content_hash    BYTEA  NOT NULL,
  chain_hash      BYTEA  NOT NULL,
  leaf_hash       BYTEA  NOT NULL,
  UNIQUE (task_no, position),
  UNIQUE (session_no, step_index)
);
CREATE UNIQUE INDEX thought_idempotency_key ON thought (idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX thought_context ON thought (context_id) WHERE context_id IS NOT NULL;

CREATE TABLE roadmap (
  no     BIGINT PRIMARY KEY,
  name   TEXT   COLLATE "C" NOT NULL UNIQUE,
  length BIGINT NOT NULL
);

CREATE TABLE snapshot (
  no           BIGINT PRIMARY KEY,
  content_hash BYTEA NOT NULL UNIQUE,
  data         TEXT
);

CREATE TABLE context (
  id          BIGINT PRIMARY KEY,
  seq         BIGINT NOT NULL UNIQUE,
  roadmap_no  BIGINT NOT NULL,
  position    BIGINT NOT NULL,
  snapshot_no BIGINT NOT NULL,
  node_count  BIGINT NOT NULL,
  created_at  TEXT   NOT NULL,
  metadata    TEXT,
  salt        BYTEA,
  leaf_hash   BYTEA  NOT NULL,
  UNIQUE (roadmap_no, position)
);

CREATE TABLE event (
  seq             BIGINT PRIMARY KEY,
  session_no      BIGINT NOT NULL,
  position        BIGINT NOT NULL,
  turn            BIGINT NOT NULL,
  kind            TEXT   NOT NULL,
  v               BIGINT NOT NULL,
  created_at      TEXT   NOT NULL,
  body            TEXT,
  salt            BYTEA,
  idempotency_key TEXT   COLLATE "C",
  leaf_hash       BYTEA  NOT NULL,
  UNIQUE (session_no, position)
);
CREATE UNIQUE INDEX event_idempotency_key ON event (idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE memory (
  session_no BIGINT PRIMARY KEY,
  length     BIGINT NOT NULL,
  newest     BIGINT NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE body (
  sha256    BYTEA  PRIMARY KEY,
  seq       BIGINT NOT NULL,
  data      TEXT,
  redaction BIGINT
);

CREATE TABLE brief (
  seq        BIGINT PRIMARY KEY,
  id         TEXT   COLLATE "C" NOT NULL UNIQUE,
  session_no BIGINT NOT NULL,
  node       TEXT   NOT NULL,
  turn       BIGINT NOT NULL,
  created_at TEXT   NOT NULL,
  hash       BYTEA  NOT NULL,
  data       TEXT,
  leaf_hash  BYTEA  NOT NULL
);
CREATE INDEX brief_session ON brief (session_no, seq);

CREATE TABLE checkpoint (
  size BIGINT PRIMARY KEY,
  note TEXT   NOT NULL
);

CREATE TABLE redaction (
  seq        BIGINT PRIMARY KEY,
  target_seq BIGINT NOT NULL UNIQUE
);

CREATE TABLE review (
  seq         BIGINT PRIMARY KEY,
  id          TEXT   COLLATE "C" NOT NULL UNIQUE,
  target_kind TEXT   NOT NULL,
  target_id   TEXT   COLLATE "C" NOT NULL,
  target_seq  BIGINT NOT NULL,
  verdict     TEXT   NOT NULL,
  actor       TEXT   NOT NULL,
  created_at  TEXT   NOT NULL,
  text        TEXT,
  salt        BYTEA,
  leaf_hash   BYTEA  NOT NULL
);
CREATE INDEX review_target ON review (target_id, seq);

CREATE TABLE seal (
  seq BIGINT PRIMARY KEY,
  key BYTEA  NOT NULL
);

CREATE TABLE fold (
  session_no BIGINT PRIMARY KEY,
  seq        BIGINT NOT NULL,
  v          BIGINT NOT NULL,
  sha256     BYTEA  NOT NULL,
  state      TEXT   NOT NULL
);

CREATE TABLE token (
  no           BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id           TEXT  COLLATE "C" NOT NULL UNIQUE,
  name         TEXT  NOT NULL,
  scope        TEXT  NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
  agent_id     TEXT,
  sha256       BYTEA NOT NULL,
  created_at   TEXT  NOT NULL,
  revoked_at   TEXT,
  last_used_at TEXT
);

-- Derived, and caught up in chunks: `through` is the last entry they cover. `documents` and `words` are the thoughts up to
-- there and the words in them, which it takes to rank matches.
CREATE TABLE derived (
  one       INT    PRIMARY KEY CHECK (one = 1),
  through   BIGINT NOT NULL,
  documents BIGINT NOT NULL,
  words     BIGINT NOT NULL
);

CREATE TABLE action (
  action_id TEXT   COLLATE "C" NOT NULL,
  seq       BIGINT NOT NULL,
  PRIMARY KEY (action_id, seq)
);

-- The words of each thought as Cairn reads them (lower case, without marks above letters), not as a dictionary of the
-- server would, and without their places, which the texts themselves tell. The scope is among them, as on SQLite, so that a
-- filter narrows the search instead of following it.
CREATE TABLE search (
  seq   BIGINT   PRIMARY KEY,
  words TSVECTOR NOT NULL
);
CREATE INDEX search_words ON search USING gin (words);

CREATE TABLE rag_documents (
  no          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  roadmap_no  BIGINT NOT NULL,
  snapshot_no BIGINT NOT NULL,
  node        TEXT   NOT NULL,
  words       TSVECTOR NOT NULL
);
CREATE INDEX rag_documents_roadmap ON rag_documents (roadmap_no);
CREATE INDEX rag_documents_words ON rag_documents USING gin (words);

-- For people with a shell: the records as Cairn shows them.
CREATE VIEW record AS
  SELECT t.seq, t.id, t.type, k.name AS task_id, t.position, s.name AS session_id, t.step_index,
         p.id AS parent_id, t.agent_id, t.action_id, t.context_id, t.brief_id, t.supersedes, t.rejects,
         t.applies_to, t.source, t.timestamp, t.content, t.metadata, encode(t.prev_hash, 'hex') AS prev_hash, encode(t.hash, 'hex') AS hash,
         encode(t.content_hash, 'hex') AS content_hash, encode(t.chain_hash, 'hex') AS chain_hash,
         encode(t.leaf_hash, 'hex') AS leaf_hash
  FROM thought t JOIN task k ON k.no = t.task_no JOIN session s ON s.no = t.session_no
       LEFT JOIN thought p ON p.seq = t.parent_seq;

-- Seat belts against accidents. Against intent there are roles that may not, and `cairn verify`.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER entry_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entry
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('the log is append-only: its entries cannot be changed or deleted');
CREATE TRIGGER event_no_delete BEFORE DELETE OR TRUNCATE ON event
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('events are write-once: they cannot be deleted');
CREATE TRIGGER body_no_delete BEFORE DELETE OR TRUNCATE ON body
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('contents are write-once: they cannot be deleted');
CREATE TRIGGER context_no_delete BEFORE DELETE OR TRUNCATE ON context
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('snapshots are write-once: they cannot be deleted');
CREATE TRIGGER snapshot_no_delete BEFORE DELETE OR TRUNCATE ON snapshot
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('snapshots are write-once: they cannot be deleted');
CREATE TRIGGER redaction_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON redaction
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('redactions are write-once: they cannot be changed or deleted');
CREATE TRIGGER review_no_delete BEFORE DELETE OR TRUNCATE ON review
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('reviews are write-once: they cannot be deleted');
CREATE TRIGGER thought_no_delete BEFORE DELETE OR TRUNCATE ON thought
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('thoughts are write-once: they cannot be deleted');
CREATE TRIGGER brief_no_delete BEFORE DELETE OR TRUNCATE ON brief
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('briefs are write-once: they cannot be deleted');
CREATE TRIGGER checkpoint_no_delete BEFORE DELETE OR TRUNCATE ON checkpoint
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('checkpoints are write-once: they cannot be deleted');
CREATE TRIGGER log_no_delete BEFORE DELETE OR TRUNCATE ON log
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('the log is append-only: its head cannot be deleted');
CREATE TRIGGER task_no_delete BEFORE DELETE OR TRUNCATE ON task
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('a task is append-only: it cannot be deleted');
CREATE TRIGGER session_no_delete BEFORE DELETE OR TRUNCATE ON session
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('a session is append-only: it cannot be deleted');
CREATE TRIGGER roadmap_no_delete BEFORE DELETE OR TRUNCATE ON roadmap
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('the snapshots of a roadmap are append-only: it cannot be deleted');
CREATE TRIGGER memory_no_delete BEFORE DELETE OR TRUNCATE ON memory
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('the memory of a session is append-only: it cannot be deleted');

CREATE TRIGGER log_only_grows BEFORE UPDATE ON log FOR EACH ROW
  WHEN (new.one <> old.one OR new.origin <> old.origin OR new.size < old.size)
  EXECUTE FUNCTION refuse('the log is append-only: it can only grow');
CREATE TRIGGER task_only_grows BEFORE UPDATE ON task FOR EACH ROW
  WHEN (new.no <> old.no OR new.name <> old.name OR new.length < old.length)
  EXECUTE FUNCTION refuse('a task is append-only: it can only grow');
CREATE TRIGGER session_only_grows BEFORE UPDATE ON session FOR EACH ROW
  WHEN (new.no <> old.no OR new.name <> old.name OR new.length < old.length)
  EXECUTE FUNCTION refuse('a session is append-only: it can only grow');
CREATE TRIGGER roadmap_only_grows BEFORE UPDATE ON roadmap FOR EACH ROW
  WHEN (new.no <> old.no OR new.name <> old.name OR new.length < old.length)
  EXECUTE FUNCTION refuse('the snapshots of a roadmap are append-only: they can only grow in number');
CREATE TRIGGER memory_only_grows BEFORE UPDATE ON memory FOR EACH ROW
  WHEN (new.session_no <> old.session_no OR new.length < old.length OR new.newest < old.newest)
  EXECUTE FUNCTION refuse('the memory of a session is append-only: it can only grow');
CREATE TRIGGER checkpoint_no_update BEFORE UPDATE ON checkpoint FOR EACH ROW
  WHEN (new.size <> old.size OR NOT starts_with(new.note, old.note))
  EXECUTE FUNCTION refuse('checkpoints are write-once: only signatures can be added');
CREATE TRIGGER seal_no_update BEFORE UPDATE OR TRUNCATE ON seal
  FOR EACH STATEMENT EXECUTE FUNCTION refuse('the keys of sealed contents are write-once: they cannot be changed');

-- Only a redaction that stands in the log blanks a record or deletes a key. The columns that stay are compared as a whole.
CREATE FUNCTION only_blanked() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  erased TEXT[] := tg_argv[1]::TEXT[];
BEGIN
  IF NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq) THEN
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'restrict_violation';
  END IF;
  IF tg_op = 'DELETE' THEN
    RETURN old;
  END IF;
  IF (to_jsonb(new) - erased) IS DISTINCT FROM (to_jsonb(old) - erased) THEN
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN new;
END $$;

-- A content that several records may share names the redaction that took it.
CREATE FUNCTION only_taken() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM redaction WHERE seq = new.redaction) THEN
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN new;
END $$;

-- Contexts share the content of a snapshot: a redaction of one of them takes it.
CREATE FUNCTION only_with_context() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM redaction r JOIN context c ON c.seq = r.target_seq WHERE c.snapshot_no = old.no) THEN
    RAISE EXCEPTION '%', tg_argv[0] USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN new;
END $$;

CREATE TRIGGER thought_no_update BEFORE UPDATE ON thought FOR EACH ROW
  WHEN (((new.content IS NULL OR (new.content = old.content AND starts_with(old.content, 'sealed:v1:')))
    AND new.metadata IS NULL AND new.salt IS NULL) IS NOT TRUE)
  EXECUTE FUNCTION refuse('thoughts are write-once: record a reflection that corrects it instead');
CREATE TRIGGER thought_only_blanked BEFORE UPDATE ON thought FOR EACH ROW
  EXECUTE FUNCTION only_blanked('thoughts are write-once: record a reflection that corrects it instead', '{content,metadata,salt}');
CREATE TRIGGER brief_no_update BEFORE UPDATE ON brief FOR EACH ROW
  WHEN (new.data IS NOT NULL) EXECUTE FUNCTION refuse('briefs are write-once: they cannot be changed');
CREATE TRIGGER brief_only_blanked BEFORE UPDATE ON brief FOR EACH ROW
  EXECUTE FUNCTION only_blanked('briefs are write-once: they cannot be changed', '{data}');
CREATE TRIGGER event_no_update BEFORE UPDATE ON event FOR EACH ROW
  WHEN (new.body IS NULL OR new.salt IS NOT NULL OR old.salt IS NULL)
  EXECUTE FUNCTION refuse('events are write-once: they cannot be changed');
CREATE TRIGGER event_only_blanked BEFORE UPDATE ON event FOR EACH ROW
  EXECUTE FUNCTION only_blanked('events are write-once: they cannot be changed', '{body,salt}');
CREATE TRIGGER context_no_update BEFORE UPDATE ON context FOR EACH ROW
  WHEN (new.metadata IS NOT NULL OR new.salt IS NOT NULL)
  EXECUTE FUNCTION refuse('snapshots are write-once: they cannot be changed');
CREATE TRIGGER context_only_blanked BEFORE UPDATE ON context FOR EACH ROW
  EXECUTE FUNCTION only_blanked('snapshots are write-once: they cannot be changed', '{metadata,salt}');
CREATE TRIGGER snapshot_no_update BEFORE UPDATE ON snapshot FOR EACH ROW
  WHEN (new.data IS NOT NULL OR new.no <> old.no OR new.content_hash <> old.content_hash)
  EXECUTE FUNCTION refuse('snapshots are write-once: they cannot be changed');
CREATE TRIGGER snapshot_only_with_context BEFORE UPDATE ON snapshot FOR EACH ROW
  EXECUTE FUNCTION only_with_context('snapshots are write-once: they cannot be changed');
CREATE TRIGGER review_no_update BEFORE UPDATE ON review FOR EACH ROW
  WHEN (new.text IS NOT NULL OR new.salt IS NOT NULL)
  EXECUTE FUNCTION refuse('reviews are write-once: they cannot be changed');
CREATE TRIGGER review_only_blanked BEFORE UPDATE ON review FOR EACH ROW
  EXECUTE FUNCTION only_blanked('reviews are write-once: they cannot be changed', '{text,salt}');
CREATE TRIGGER body_no_update BEFORE UPDATE ON body FOR EACH ROW
  WHEN (new.data IS NOT NULL OR old.redaction IS NOT NULL OR new.sha256 <> old.sha256 OR new.seq <> old.seq)
  EXECUTE FUNCTION refuse('contents are write-once: they cannot be changed');
CREATE TRIGGER body_only_taken BEFORE UPDATE ON body FOR EACH ROW
  EXECUTE FUNCTION only_taken('contents are write-once: they cannot be changed');
CREATE TRIGGER seal_no_delete BEFORE DELETE ON seal FOR EACH ROW
  EXECUTE FUNCTION only_blanked('the key of a sealed content is deleted by a redaction alone', '{}');
