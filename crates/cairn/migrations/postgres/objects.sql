-- Everything that stands in the schema of a log, by name, with what it is: what `expected.txt` says this program makes, and
-- what `verify` finds. Names of the schema itself are left out, since they differ; white space does not count.
WITH here AS (
  SELECT oid, nspname FROM pg_namespace WHERE nspname = current_schema()
), relation AS (
  SELECT c.oid, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relforcerowsecurity, c.relam, c.relchecks,
    c.relhastriggers, c.relhasindex
  FROM pg_class c JOIN here ON c.relnamespace = here.oid
), object (name, definition) AS (
  SELECT CASE relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'relation' END || ' ' || relname,
    concat_ws(' ', relkind, relpersistence, CASE WHEN relrowsecurity OR relforcerowsecurity THEN 'row security' END,
      CASE WHEN relkind = 'r' AND relam <> (SELECT m.oid FROM pg_am m WHERE m.amname = 'heap') THEN 'another access method' END,
      -- With these, PostgreSQL passes over what stands in the other catalogues.
      CASE WHEN NOT relhasindex AND EXISTS (SELECT 1 FROM pg_index x WHERE x.indrelid = r.oid) THEN 'indexes unused' END,
      CASE WHEN NOT relhastriggers AND EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = r.oid) THEN 'triggers unused' END,
      CASE WHEN relkind = 'r' AND relchecks <> (SELECT count(*) FROM pg_constraint k WHERE k.conrelid = r.oid AND contype = 'c')
        THEN 'checks unused' END,
      -- Servers of different versions put parentheses in different places.
      CASE WHEN relkind IN ('v', 'm') THEN regexp_replace(pg_get_viewdef(r.oid, true), '[()]', ' ', 'g') END)
  FROM relation r WHERE relkind NOT IN ('i', 'I')
  UNION ALL
  SELECT 'column ' || relname || '.' || attname,
    concat_ws(' ', format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' END,
      CASE WHEN attcollation <> 0 THEN (
        SELECT concat_ws(' ', collname, CASE WHEN collnamespace <> 'pg_catalog'::regnamespace THEN 'of another schema' END)
        FROM pg_collation l WHERE l.oid = attcollation) END,
      nullif(attidentity, ''), nullif(attgenerated, ''),
      (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = attrelid AND d.adnum = attnum))
  FROM relation r JOIN pg_attribute a ON a.attrelid = r.oid
  WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p', 'f')
  UNION ALL
  -- That a column is not null is said of the column; later servers say it here as well.
  SELECT 'constraint ' || conname || ' of ' || relname,
    concat_ws(' ', pg_get_constraintdef(k.oid, true), CASE WHEN NOT convalidated THEN 'not validated' END)
  FROM relation r JOIN pg_constraint k ON k.conrelid = r.oid WHERE contype NOT IN ('n', 't')
  UNION ALL
  SELECT 'index ' || i.relname,
    concat_ws(' ', replace(pg_get_indexdef(i.oid), quote_ident((SELECT nspname FROM here)) || '.', ''),
      CASE WHEN NOT (x.indisvalid AND x.indisready AND x.indislive) THEN 'not valid' END,
      CASE WHEN NOT x.indimmediate THEN 'not immediate' END)
  FROM relation i JOIN pg_index x ON x.indexrelid = i.oid
  -- REINDEX CONCURRENTLY works beside the index, on one that nobody reads yet, or any more.
  WHERE NOT (i.relname ~ '_cc(new|old)[0-9]*$' AND NOT x.indisvalid)
  UNION ALL
  SELECT 'trigger ' || tgname || ' on ' || relname, concat_ws(' ', pg_get_triggerdef(t.oid, true), 'enabled: ' || tgenabled::text)
  FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid
  -- Any trigger can be marked as internal. Those of a foreign key in another schema that leads here change nothing here.
  WHERE NOT (tgisinternal AND tgfoid < 16384 AND (SELECT proname FROM pg_proc f WHERE f.oid = tgfoid) LIKE 'RI\_FKey\_%'
    AND EXISTS (SELECT 1 FROM pg_constraint k WHERE k.oid = tgconstraint AND contype = 'f' AND confrelid = tgrelid))
  UNION ALL
  SELECT 'rule ' || rulename || ' on ' || relname, concat_ws(' ', pg_get_ruledef(w.oid, true), 'enabled: ' || ev_enabled::text)
  FROM relation r JOIN pg_rewrite w ON w.ev_class = r.oid WHERE NOT (relkind IN ('v', 'm') AND rulename = '_RETURN')
  UNION ALL
  SELECT 'policy ' || polname || ' on ' || relname, 'policy'
  FROM relation r JOIN pg_policy y ON y.polrelid = r.oid
  UNION ALL
  SELECT 'inheritance of ' || relname, inhparent::regclass::text FROM relation r JOIN pg_inherits h ON h.inhrelid = r.oid
  UNION ALL
  SELECT 'inheritance from ' || relname, inhrelid::regclass::text FROM relation r JOIN pg_inherits h ON h.inhparent = r.oid
  UNION ALL
  SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(f.oid) || ')',
    concat_ws(' ', lanname, prokind, provolatile, CASE WHEN prosecdef THEN 'security definer' END,
      CASE WHEN proisstrict THEN 'strict' END,
      array_to_string(proconfig, ' '), prorettype::regtype, prosrc)
  FROM pg_proc f JOIN here ON f.pronamespace = here.oid JOIN pg_language l ON l.oid = f.prolang
  UNION ALL
  SELECT 'operator ' || oprname || ' ' || o.oid::regoperator, 'operator' FROM pg_operator o JOIN here ON o.oprnamespace = here.oid
  UNION ALL
  SELECT 'type ' || typname, 'type'
  FROM pg_type t JOIN here ON t.typnamespace = here.oid
  WHERE typrelid = 0 AND NOT EXISTS (SELECT 1 FROM pg_type e WHERE e.typarray = t.oid)
  UNION ALL
  SELECT 'collation ' || collname, 'collation' FROM pg_collation l JOIN here ON l.collnamespace = here.oid
  UNION ALL
  SELECT 'operator class ' || opcname, 'operator class' FROM pg_opclass p JOIN here ON p.opcnamespace = here.oid
  UNION ALL
  -- Names are looked up there before they are looked up here.
  SELECT 'relation ' || c.relname || ' in ' || c.relnamespace::regnamespace, 'in front of a table'
  FROM pg_class c JOIN relation r ON c.relname = r.relname AND r.relkind NOT IN ('i', 'I')
  WHERE c.relnamespace IN ('pg_catalog'::regnamespace, pg_my_temp_schema())
)
SELECT name, btrim(regexp_replace(definition, '\s+', ' ', 'g')) AS definition FROM object
ORDER BY name COLLATE "C", definition COLLATE "C"
