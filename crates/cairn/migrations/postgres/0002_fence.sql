-- Grows when a server had to look up what became of a commit that it had no answer to. What it sent before names the old
-- fence, and should it arrive after all, it finds another one and writes nothing.
ALTER TABLE log ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
