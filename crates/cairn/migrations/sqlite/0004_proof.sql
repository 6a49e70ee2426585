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

-- What people say about thoughts and briefs. `salt` keeps the text from being guessed from what stands for it in the log.
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
  salt        BLOB
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

-- The few entries that say something about the log itself, without looking at all the others.
CREATE INDEX entry_about_log ON entry (kind, seq) WHERE kind IN ('continuation', 'key', 'redaction');

-- Sealed contents are not searchable: their words would stand in the index in the clear.
DROP VIEW search_source;
CREATE VIEW search_source (seq, content, metadata, scope) AS
  SELECT seq, iif(content GLOB 'sealed:v1:*', NULL, content), metadata,
    's' || session_no || ' t' || task_no || ' k' || type
  FROM thought WHERE seq <= (SELECT through FROM derived);

-- A thought can still not be changed, but for being blanked by a redaction that stands in the log. A sealed content
-- stays, and so do all its hashes: what goes is its key.
DROP TRIGGER thought_no_update;
CREATE TRIGGER thought_no_update BEFORE UPDATE ON thought
WHEN (new.content IS NOT NULL AND NOT (new.content IS old.content AND old.content GLOB 'sealed:v1:*'))
  OR new.metadata IS NOT NULL OR new.salt IS NOT NULL
  OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.id, new.type, new.task_no, new.position, new.session_no, new.step_index, new.agent_id, new.timestamp,
      new.prev_hash, new.hash, new.content_hash, new.chain_hash)
    IS NOT (old.seq, old.id, old.type, old.task_no, old.position, old.session_no, old.step_index, old.agent_id,
      old.timestamp, old.prev_hash, old.hash, old.content_hash, old.chain_hash)
  OR (new.parent_seq, new.action_id, new.context_id, new.brief_id, new.idempotency_key)
    IS NOT (old.parent_seq, old.action_id, old.context_id, old.brief_id, old.idempotency_key)
BEGIN
  SELECT raise(ABORT, 'thoughts are write-once: record a reflection that corrects it instead');
END;

-- The same for a stored brief, which repeats what others said.
DROP TRIGGER brief_no_update;
CREATE TRIGGER brief_no_update BEFORE UPDATE ON brief
WHEN new.data IS NOT NULL OR NOT EXISTS (SELECT 1 FROM redaction WHERE target_seq = old.seq)
  OR (new.seq, new.id, new.session_no, new.node, new.turn, new.created_at, new.hash)
    IS NOT (old.seq, old.id, old.session_no, old.node, old.turn, old.created_at, old.hash)
BEGIN
  SELECT raise(ABORT, 'briefs are write-once: they cannot be changed');
END;

-- Seat belts against accidents. Against intent there is `cairn verify`.
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
CREATE TRIGGER review_no_update BEFORE UPDATE ON review BEGIN
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
