-- oldest: 1

-- One row each: numbers that must not be given twice, and what is locked to give them.
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO counters VALUES ('arrival', 0), ('broadcast', 0);

CREATE TABLE entities (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    kind       TEXT NOT NULL CHECK (kind IN ('agent', 'human', 'service')),
    display    TEXT NOT NULL,
    team       TEXT,
    role       TEXT,
    owner      INTEGER REFERENCES entities,
    created_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT;

CREATE INDEX entities_team ON entities (team, role) WHERE team IS NOT NULL;

-- Names and aliases share one namespace.
CREATE TABLE names (
    name     TEXT PRIMARY KEY,
    entity   INTEGER NOT NULL REFERENCES entities,
    is_alias INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX names_entity ON names (entity);

-- An event, once, whoever it is for. Its number is its arrival: its place in the order of all events.
CREATE TABLE events (
    arrival       INTEGER PRIMARY KEY,
    id            TEXT NOT NULL UNIQUE,
    type          TEXT NOT NULL,
    source        TEXT NOT NULL,
    sender        INTEGER REFERENCES entities,
    subject       TEXT,
    content       TEXT NOT NULL,
    data          TEXT,
    priority      INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 4),
    created_at    INTEGER NOT NULL,
    ref_type      TEXT,
    ref_id        TEXT,
    route_channel TEXT,
    route_session TEXT,
    hops          INTEGER NOT NULL,
    trust         TEXT NOT NULL
) STRICT;

-- A claim holds items while they are being read; once it is acked it is their receipt.
CREATE TABLE claims (
    number    INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    recipient INTEGER NOT NULL REFERENCES entities,
    kind      TEXT NOT NULL CHECK (kind IN ('drain', 'run', 'person')),
    owner     TEXT NOT NULL,
    fence     INTEGER NOT NULL,
    taken_at  INTEGER NOT NULL,
    deadline  INTEGER,
    ended_at  INTEGER,
    outcome   TEXT CHECK (outcome IN ('acked', 'released', 'lapsed'))
) STRICT;

CREATE INDEX claims_open ON claims (recipient, deadline) WHERE ended_at IS NULL;
CREATE INDEX claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;

-- What one event is to one recipient: narrow, because there is one for each.
CREATE TABLE items (
    recipient        INTEGER NOT NULL REFERENCES entities,
    arrival          INTEGER NOT NULL REFERENCES events DEFERRABLE INITIALLY DEFERRED,
    dedup_key        TEXT,
    priority         INTEGER NOT NULL,
    sender_is_person INTEGER NOT NULL,
    source           TEXT NOT NULL,
    expires_at       INTEGER,
    wakes            INTEGER NOT NULL,
    state            TEXT NOT NULL
        CHECK (state IN ('pending', 'claimed', 'delivered', 'expired', 'dead', 'discarded')),
    claim            INTEGER REFERENCES claims,
    attempts         INTEGER NOT NULL,
    seen_at          INTEGER,
    ended_at         INTEGER,
    size             INTEGER NOT NULL,
    PRIMARY KEY (recipient, arrival)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX items_key ON items (recipient, dedup_key) WHERE dedup_key IS NOT NULL;
CREATE INDEX items_event ON items (arrival);
CREATE INDEX items_pending ON items (recipient, priority, sender_is_person DESC, arrival) WHERE state = 'pending';
CREATE INDEX items_source ON items (recipient, source, priority, arrival) WHERE state = 'pending';
CREATE INDEX items_claim ON items (claim) WHERE claim IS NOT NULL;
CREATE INDEX items_expiry ON items (expires_at) WHERE state = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX items_ended ON items (ended_at) WHERE state IN ('delivered', 'expired', 'discarded');

-- The reading side of an inbox: locked by whoever claims from it.
CREATE TABLE inboxes (
    recipient INTEGER PRIMARY KEY REFERENCES entities,
    fence     INTEGER NOT NULL,
    cursor    INTEGER NOT NULL
) STRICT;

-- The accounts of an inbox: what it accepted, and of what the reaper took away, how it had ended.
CREATE TABLE tallies (
    recipient INTEGER PRIMARY KEY REFERENCES entities,
    accepted  INTEGER NOT NULL,
    delivered INTEGER NOT NULL,
    expired   INTEGER NOT NULL,
    discarded INTEGER NOT NULL
) STRICT;

-- One row for every agent there is; each takes it when it next looks.
CREATE TABLE broadcasts (
    number     INTEGER PRIMARY KEY,
    arrival    INTEGER NOT NULL UNIQUE REFERENCES events,
    dedup_key  TEXT NOT NULL UNIQUE,
    priority   INTEGER NOT NULL,
    sender     INTEGER REFERENCES entities,
    sender_is_person INTEGER NOT NULL,
    source     TEXT NOT NULL,
    expires_at INTEGER,
    wakes      INTEGER NOT NULL,
    size       INTEGER NOT NULL
) STRICT;

-- The sessions of guests: which entity a program elsewhere is, and whether it is at work.
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    entity     INTEGER NOT NULL REFERENCES entities,
    host       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('working', 'idle', 'ended')),
    hops       INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_entity ON sessions (entity) WHERE state <> 'ended';

-- One holder at a time, for an agent's cycle or for a background duty.
CREATE TABLE leases (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    fence    INTEGER NOT NULL,
    deadline INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Effects outside the database, to be done at least once.
CREATE TABLE errands (
    number   INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    kind     TEXT NOT NULL,
    payload  TEXT NOT NULL,
    due_at   INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    holder   TEXT,
    deadline INTEGER,
    ended_at INTEGER,
    outcome  TEXT,
    error    TEXT
) STRICT;

CREATE INDEX errands_due ON errands (due_at) WHERE ended_at IS NULL;

-- An item with all that is known of it, in the order in which `tables/items.py` reads it.
CREATE VIEW inbox AS
SELECT
    i.recipient, i.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, i.priority, i.dedup_key, e.created_at, i.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, i.wakes,
    i.state, i.attempts, i.seen_at, i.ended_at, c.kind AS claim_kind, c.owner AS claim_owner, c.taken_at AS claim_at
FROM items i
JOIN events e ON e.arrival = i.arrival
JOIN entities r ON r.number = i.recipient
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN claims c ON c.number = i.claim;

-- A broadcast as the item it will be for an agent that has not taken it yet.
CREATE VIEW outbox AS
SELECT
    r.number AS recipient, b.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, b.priority, b.dedup_key, e.created_at, b.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, b.wakes,
    'pending' AS state, 0 AS attempts, CAST(NULL AS BIGINT) AS seen_at, CAST(NULL AS BIGINT) AS ended_at,
    NULL AS claim_kind, NULL AS claim_owner, CAST(NULL AS BIGINT) AS claim_at
FROM broadcasts b
JOIN inboxes x ON x.cursor < b.number
JOIN entities r ON r.number = x.recipient AND r.kind = 'agent' AND r.retired_at IS NULL
JOIN events e ON e.arrival = b.arrival
LEFT JOIN entities s ON s.number = b.sender
WHERE (b.sender IS NULL OR b.sender <> r.number)
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.recipient = r.number AND i.dedup_key = b.dedup_key);
