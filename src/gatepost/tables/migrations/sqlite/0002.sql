-- oldest: 1

-- A space numbers its messages itself: whoever posts takes its row, so that there are no gaps.
CREATE TABLE spaces (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL,
    last_seq    INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    archived_at INTEGER
) STRICT;

CREATE TABLE members (
    space     INTEGER NOT NULL REFERENCES spaces,
    entity    INTEGER NOT NULL REFERENCES entities,
    joined_at INTEGER NOT NULL,
    read_seq  INTEGER NOT NULL,
    PRIMARY KEY (space, entity)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_entity ON members (entity);

CREATE TABLE messages (
    space      INTEGER NOT NULL REFERENCES spaces,
    seq        INTEGER NOT NULL,
    id         TEXT NOT NULL UNIQUE,
    sender     INTEGER NOT NULL REFERENCES entities,
    content    TEXT NOT NULL,
    data       TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (space, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    owner       INTEGER NOT NULL REFERENCES entities,
    name        TEXT NOT NULL,
    instruction TEXT NOT NULL,
    cron        TEXT,
    zone        TEXT,
    catch_up    TEXT NOT NULL CHECK (catch_up IN ('once', 'skip', 'all')),
    status      TEXT NOT NULL CHECK (status IN ('pending', 'completed', 'cancelled')),
    -- the slot that is due next, none when it is over; and the one that fired last
    next_at     INTEGER,
    last_at     INTEGER,
    fired       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;

CREATE INDEX plans_due ON plans (next_at) WHERE status = 'pending';
CREATE INDEX plans_owner ON plans (owner, number);
CREATE INDEX plans_ended ON plans (ended_at) WHERE ended_at IS NOT NULL;

-- Keys are kept hashed; the prefix is enough to tell them apart in a list.
CREATE TABLE keys (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    prefix     TEXT NOT NULL,
    hash       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL CHECK (kind IN ('admin', 'agent', 'trigger', 'public')),
    entity     INTEGER REFERENCES entities,
    trigger_id TEXT,
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT;

-- Named ways in from outside; a webhook verifies one scheme.
CREATE TABLE triggers (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL UNIQUE,
    provider   TEXT NOT NULL,
    scheme     TEXT,
    secret     TEXT,
    target     TEXT NOT NULL,
    prompt     TEXT,
    owner      INTEGER REFERENCES entities,
    active     INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- What was answered to a request that may be repeated.
CREATE TABLE replies (
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX replies_age ON replies (created_at);
