-- oldest: 1

-- A claim of a guest's session holds what a hook has printed until a model has answered. SQLite cannot change a CHECK:
-- the table is made anew. The old way of renaming leaves alone the view that reads it.
PRAGMA legacy_alter_table = ON;

CREATE TABLE claims_new (
    number    INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    recipient INTEGER NOT NULL REFERENCES entities,
    kind      TEXT NOT NULL CHECK (kind IN ('drain', 'session', 'run', 'person')),
    owner     TEXT NOT NULL,
    fence     INTEGER NOT NULL,
    taken_at  INTEGER NOT NULL,
    deadline  INTEGER,
    ended_at  INTEGER,
    outcome   TEXT CHECK (outcome IN ('acked', 'released', 'lapsed'))
) STRICT;

INSERT INTO claims_new SELECT number, id, recipient, kind, owner, fence, taken_at, deadline, ended_at, outcome FROM claims;

DROP TABLE claims;

ALTER TABLE claims_new RENAME TO claims;

CREATE INDEX claims_open ON claims (recipient, deadline) WHERE ended_at IS NULL;
CREATE INDEX claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;

PRAGMA legacy_alter_table = OFF;
