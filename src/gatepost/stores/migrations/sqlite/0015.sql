-- oldest: 15

-- Keys are stored as hashes; the prefix tells them apart in a list. Those of the page and of one-time links end.
ALTER TABLE keys RENAME TO old_keys;
CREATE TABLE keys (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    prefix     TEXT NOT NULL,
    hash       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL CHECK (kind IN ('admin', 'agent', 'trigger', 'public', 'page', 'link')),
    entity     INTEGER REFERENCES entities,
    trigger_id TEXT,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    expires_at INTEGER
) STRICT;
INSERT INTO keys
SELECT number, id, prefix, hash, kind, entity, trigger_id, name, created_at, revoked_at, NULL FROM old_keys;
DROP TABLE old_keys;
CREATE INDEX keys_expires_at ON keys (expires_at) WHERE expires_at IS NOT NULL;

-- A plan that is disabled does not fire.
ALTER TABLE plans ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
DROP INDEX plans_due;
CREATE INDEX plans_due ON plans (next_at) WHERE status = 'pending' AND active;
