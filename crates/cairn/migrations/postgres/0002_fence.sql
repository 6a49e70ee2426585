-- Grows when a server had to look up what became of a commit that it had no answer to. What it sent before names the old
-- fence, and should it arrive after all, it finds another one and writes nothing.
ALTER TABLE log ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;

-- Whoever may move the head on may move the fence.
DO $$
DECLARE
  mover TEXT;
BEGIN
  FOR mover IN
    SELECT CASE grantee WHEN 'PUBLIC' THEN 'PUBLIC' ELSE quote_ident(grantee) END
    FROM information_schema.column_privileges
    WHERE table_schema = current_schema() AND table_name = 'log' AND column_name = 'size' AND privilege_type = 'UPDATE'
      AND grantee <> current_user
  LOOP
    EXECUTE format('GRANT UPDATE (fence) ON log TO %s', mover);
  END LOOP;
END
$$;
