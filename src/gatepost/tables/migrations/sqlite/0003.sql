-- oldest: 1

-- What a resident is told to be, and how its thinking goes. An agent without such a row is a guest.
CREATE TABLE agents (
    entity     INTEGER PRIMARY KEY REFERENCES entities,
    config     TEXT NOT NULL,
    version    INTEGER NOT NULL,
    paused_at  INTEGER,
    cycles     INTEGER NOT NULL,
    -- what its mind weighs
    tokens     INTEGER NOT NULL,
    failures   INTEGER NOT NULL,
    rest_until INTEGER,
    cap        INTEGER,
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX agents_resting ON agents (rest_until) WHERE rest_until IS NOT NULL;

-- What is left of the cycles of an agent up to and including a run. The newest row of an agent counts; older ones are
-- what earlier runs began with.
CREATE TABLE minds (
    number     INTEGER PRIMARY KEY,
    agent      INTEGER NOT NULL REFERENCES entities,
    run        INTEGER NOT NULL,
    summaries  TEXT NOT NULL,
    dropped    INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE INDEX minds_agent ON minds (agent, number);

CREATE TABLE runs (
    number            INTEGER PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    agent             INTEGER NOT NULL REFERENCES entities,
    status            TEXT NOT NULL
        CHECK (status IN ('running', 'waiting_tool', 'completed', 'skipped', 'failed', 'cancelled')),
    cycle             INTEGER NOT NULL,
    cause             TEXT NOT NULL,
    claim             TEXT NOT NULL,
    claim_fence       INTEGER NOT NULL,
    events            INTEGER NOT NULL,
    steps             INTEGER NOT NULL,
    effects           INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    hops              INTEGER NOT NULL,
    version           INTEGER NOT NULL,
    model             TEXT NOT NULL,
    mind              INTEGER REFERENCES minds,
    -- what it weighs in the mind
    tokens            INTEGER NOT NULL,
    summary           TEXT NOT NULL,
    error             TEXT,
    started_at        INTEGER NOT NULL,
    ended_at          INTEGER
) STRICT;

-- One at a time.
CREATE UNIQUE INDEX runs_open ON runs (agent) WHERE status = 'running';
CREATE INDEX runs_mind ON runs (agent, number) WHERE status IN ('waiting_tool', 'completed');
CREATE INDEX runs_agent ON runs (agent, number);

-- The journal: what was shown, said and done, in order. A call has one result.
CREATE TABLE steps (
    run        INTEGER NOT NULL REFERENCES runs,
    number     INTEGER NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('prompt', 'reply', 'result')),
    call       TEXT,
    body       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX steps_call ON steps (run, call) WHERE call IS NOT NULL;

-- Calls that somebody outside answers.
CREATE TABLE calls (
    id         TEXT PRIMARY KEY,
    run        INTEGER NOT NULL REFERENCES runs,
    tool       TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('pending', 'resolved', 'expired')),
    result     TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX calls_run ON calls (run);
CREATE INDEX calls_expiry ON calls (expires_at) WHERE status = 'pending';

CREATE TABLE memories (
    entity     INTEGER NOT NULL REFERENCES entities,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (entity, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE goals (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    entity      INTEGER NOT NULL REFERENCES entities,
    description TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('active', 'completed', 'abandoned')),
    -- higher is more
    priority    INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX goals_entity ON goals (entity, number);
