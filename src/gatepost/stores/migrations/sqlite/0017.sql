-- oldest: 17

-- What came through a channel and nobody got. The envelope is JSON, and so is what else its event says.
ALTER TABLE unrouted RENAME TO old_unrouted;
CREATE TABLE unrouted (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    trigger    INTEGER REFERENCES triggers,
    -- who wrote it, if it is somebody here
    sender     INTEGER REFERENCES entities,
    dedup_key  TEXT,
    envelope   TEXT NOT NULL,
    event      TEXT NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN ('no_route', 'no_target', 'missing_metadata')),
    created_at INTEGER NOT NULL,
    handled_at INTEGER,
    handled_by INTEGER REFERENCES entities,
    -- how it was handled
    outcome    TEXT CHECK (outcome IN ('replayed', 'discarded'))
) STRICT;
INSERT INTO unrouted SELECT * FROM old_unrouted;
DROP TABLE old_unrouted;
CREATE UNIQUE INDEX unrouted_dedup ON unrouted (dedup_key) WHERE dedup_key IS NOT NULL;
CREATE INDEX unrouted_waiting ON unrouted (number) WHERE handled_at IS NULL;
