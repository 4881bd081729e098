-- oldest: 9

-- The last numbers that were given. A row is locked to take the next one, so no number is given twice.
CREATE TABLE counters (
    name TEXT PRIMARY KEY, value INTEGER NOT NULL
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
    name TEXT PRIMARY KEY, entity INTEGER NOT NULL REFERENCES entities, is_alias INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX names_entity ON names (entity);

-- An event, once for all its recipients. Its number is its arrival: its position in the order of all events.
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
    trust         TEXT NOT NULL,
    -- the time of its source; NULL if that is when it was created
    occurred_at   INTEGER
) STRICT;

-- A claim holds items while they are being read; once it is acked it is their receipt.
CREATE TABLE claims (
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
CREATE INDEX claims_open ON claims (recipient, deadline) WHERE ended_at IS NULL;
CREATE INDEX claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;

-- One event in one inbox. The row is narrow, because there is one for each recipient.
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

-- What a claim locks: the fence of an inbox and its cursor in the broadcasts.
CREATE TABLE inboxes (
    recipient INTEGER PRIMARY KEY REFERENCES entities, fence INTEGER NOT NULL, cursor INTEGER NOT NULL
) STRICT;

-- The accounts of an inbox: how many items it has accepted, and how those ended that were deleted since.
CREATE TABLE accounts (
    recipient INTEGER PRIMARY KEY REFERENCES entities, accepted INTEGER NOT NULL, delivered INTEGER NOT NULL,
    expired INTEGER NOT NULL, discarded INTEGER NOT NULL
) STRICT;

-- One row for all agents; each agent takes it with its next claim.
CREATE TABLE broadcasts (
    number           INTEGER PRIMARY KEY,
    arrival          INTEGER NOT NULL UNIQUE REFERENCES events,
    dedup_key        TEXT NOT NULL UNIQUE,
    priority         INTEGER NOT NULL,
    sender           INTEGER REFERENCES entities,
    sender_is_person INTEGER NOT NULL,
    source           TEXT NOT NULL,
    expires_at       INTEGER,
    wakes            INTEGER NOT NULL,
    size             INTEGER NOT NULL
) STRICT;

-- The sessions of guests: the entity of a foreign program, and whether it is working.
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

-- One holder at a time, for the cycle of an agent or for a background duty.
CREATE TABLE leases (
    name TEXT PRIMARY KEY, holder TEXT NOT NULL, fence INTEGER NOT NULL, deadline INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Effects outside the database, each done at least once.
CREATE TABLE jobs (
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
CREATE INDEX jobs_due ON jobs (due_at) WHERE ended_at IS NULL;

-- A space numbers its messages: a post locks the row, so that there are no gaps.
CREATE TABLE spaces (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, last_seq INTEGER NOT NULL,
    created_at INTEGER NOT NULL, archived_at INTEGER
) STRICT;

CREATE TABLE members (
    space INTEGER NOT NULL REFERENCES spaces, entity INTEGER NOT NULL REFERENCES entities, joined_at INTEGER NOT NULL,
    read_seq INTEGER NOT NULL,
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

-- Keys are stored as hashes; the prefix tells them apart in a list.
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

-- Webhooks: each verifies one scheme of signatures.
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

-- The replies to requests that a client may repeat.
CREATE TABLE idempotency_keys (
    scope TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The configuration and the state of a resident. An agent without such a row is a guest.
CREATE TABLE agents (
    entity      INTEGER PRIMARY KEY REFERENCES entities,
    config      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    paused_at   INTEGER,
    cycles      INTEGER NOT NULL,
    -- the size of its mind
    tokens      INTEGER NOT NULL,
    failures    INTEGER NOT NULL,
    rest_until  INTEGER,
    batch_limit INTEGER,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX agents_rest ON agents (rest_until) WHERE rest_until IS NOT NULL;

-- The summaries of the cycles of an agent, up to and including a run. The newest row of an agent is its mind;
-- earlier runs began with older rows.
CREATE TABLE minds (
    number INTEGER PRIMARY KEY, agent INTEGER NOT NULL REFERENCES entities, run INTEGER NOT NULL,
    summaries TEXT NOT NULL, dropped_count INTEGER NOT NULL, created_at INTEGER NOT NULL
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
    -- its size in the mind
    tokens            INTEGER NOT NULL,
    summary           TEXT NOT NULL,
    error             TEXT,
    started_at        INTEGER NOT NULL,
    ended_at          INTEGER,
    -- how often a model refused to continue after the run had effects
    refusals          INTEGER NOT NULL DEFAULT 0,
    -- the limit at which the cycle ended; NULL if its model ended it
    limit_reached     TEXT
) STRICT;

-- An agent has one open run.
CREATE UNIQUE INDEX runs_open ON runs (agent) WHERE status = 'running';
CREATE INDEX runs_mind ON runs (agent, number) WHERE status IN ('waiting_tool', 'completed');
CREATE INDEX runs_agent ON runs (agent, number);

-- The journal: prompts, replies and results in order. A call has one result.
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

-- Tool calls whose result comes from outside.
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
    entity INTEGER NOT NULL REFERENCES entities, key TEXT NOT NULL, value TEXT NOT NULL, updated_at INTEGER NOT NULL,
    PRIMARY KEY (entity, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE goals (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    entity      INTEGER NOT NULL REFERENCES entities,
    description TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('active', 'completed', 'abandoned')),
    -- the highest is the most important
    priority    INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX goals_entity ON goals (entity, number);

-- What an agent has to wait for. How a gate ended is in `resolutions`; `ended_at` is here for the indexes.
CREATE TABLE gates (
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    name           TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('human', 'decision', 'timer', 'event', 'mail', 'command', 'ci')),
    owner          INTEGER NOT NULL REFERENCES entities,
    made_by        INTEGER REFERENCES entities,
    awaits         TEXT,
    -- who has to act; when they retire, the gate ends
    awaited_entity INTEGER REFERENCES entities,
    -- the event that has to reach its owner after the arrival `since`
    event_type     TEXT,
    event_source   TEXT,
    since          INTEGER,
    instruction    TEXT NOT NULL,
    deadline       INTEGER,
    at_deadline    TEXT NOT NULL CHECK (at_deadline IN ('open', 'escalate')),
    fail           TEXT NOT NULL CHECK (fail IN ('open', 'closed')),
    trouble        TEXT,
    escalated_at   INTEGER,
    -- when a process has to run its command or ask its CI
    check_at       INTEGER,
    created_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    -- the length of the chain of events that it continues when it ends by itself, and since when
    hops           INTEGER NOT NULL DEFAULT 0,
    hops_at        INTEGER NOT NULL DEFAULT 0,
    -- when its instruction was put into a cycle of the resident that owns it: once
    instructed_at  INTEGER
) STRICT;
CREATE INDEX gates_owner ON gates (owner, number);
CREATE INDEX gates_pending ON gates (owner) WHERE ended_at IS NULL;
CREATE INDEX gates_awaited_entity ON gates (awaited_entity) WHERE ended_at IS NULL AND awaited_entity IS NOT NULL;
CREATE INDEX gates_deadline ON gates (deadline)
    WHERE ended_at IS NULL AND deadline IS NOT NULL AND escalated_at IS NULL;
CREATE INDEX gates_event ON gates (owner) WHERE ended_at IS NULL AND event_type IS NOT NULL;
CREATE INDEX gates_check ON gates (check_at) WHERE ended_at IS NULL AND check_at IS NOT NULL;
CREATE INDEX gates_ended ON gates (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE waiters (
    gate INTEGER NOT NULL REFERENCES gates ON DELETE CASCADE, entity INTEGER NOT NULL REFERENCES entities,
    PRIMARY KEY (gate, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX waiters_entity ON waiters (entity, gate);

-- How a gate ended: once.
CREATE TABLE resolutions (
    gate     INTEGER PRIMARY KEY REFERENCES gates ON DELETE CASCADE,
    ending   TEXT NOT NULL CHECK (ending IN ('resolved', 'expired', 'orphaned', 'withdrawn')),
    reason   TEXT NOT NULL,
    ended_by INTEGER REFERENCES entities,
    ended_at INTEGER NOT NULL
) STRICT;

CREATE TABLE decisions (
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    gate           INTEGER NOT NULL UNIQUE REFERENCES gates,
    asker          INTEGER NOT NULL REFERENCES entities,
    question       TEXT NOT NULL,
    options        TEXT NOT NULL,
    free_text      INTEGER NOT NULL,
    urgency        INTEGER NOT NULL,
    default_option TEXT,
    context        TEXT,
    context_hash   TEXT NOT NULL,
    ref_type       TEXT,
    ref_id         TEXT,
    session        TEXT,
    iteration      INTEGER NOT NULL,
    guidance       TEXT,
    created_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX decisions_asker ON decisions (asker, number);
CREATE INDEX decisions_session ON decisions (session, number) WHERE session IS NOT NULL;

-- The entities that may answer.
CREATE TABLE respondents (
    decision INTEGER NOT NULL REFERENCES decisions, entity INTEGER NOT NULL REFERENCES entities,
    PRIMARY KEY (decision, entity)
) STRICT, WITHOUT ROWID;
CREATE INDEX respondents_entity ON respondents (entity, decision);

-- How a round of a decision ended: once.
CREATE TABLE answers (
    decision    INTEGER NOT NULL REFERENCES decisions,
    iteration   INTEGER NOT NULL,
    outcome     TEXT NOT NULL
        CHECK (outcome IN ('answered', 'rejected', 'defaulted', 'expired', 'withdrawn', 'orphaned', 'again')),
    option      TEXT,
    text        TEXT,
    answered_by INTEGER REFERENCES entities,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (decision, iteration)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_at ON answers (answered_at);

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
    -- the next slot, NULL after the end; and the last one that fired
    next_at     INTEGER,
    last_at     INTEGER,
    fired       INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    -- the gate that it waits for instead of a time; it is due when that is resolved
    gate        INTEGER REFERENCES gates,
    -- the length of the chain of events that it continues when it fires
    hops        INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX plans_due ON plans (next_at) WHERE status = 'pending';
CREATE INDEX plans_owner ON plans (owner, number);
CREATE INDEX plans_ended ON plans (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX plans_gate ON plans (gate) WHERE gate IS NOT NULL;

-- An item with its event, its recipient and its claim.
CREATE VIEW inbox_items AS
SELECT
    i.recipient, i.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, i.priority, i.dedup_key, e.created_at, i.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, i.wakes,
    i.state, i.attempts, i.seen_at, i.ended_at, c.kind AS claim_kind, c.owner AS claim_owner, c.taken_at AS claim_at,
    e.occurred_at
FROM items i
JOIN events e ON e.arrival = i.arrival
JOIN entities r ON r.number = i.recipient
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN claims c ON c.number = i.claim;

-- A broadcast as the item that it will be for an agent that has not taken it yet; the same columns as inbox_items.
CREATE VIEW pending_broadcasts AS
SELECT
    r.number AS recipient, b.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, b.priority, b.dedup_key, e.created_at, b.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, b.wakes,
    'pending' AS state, 0 AS attempts, CAST(NULL AS BIGINT) AS seen_at, CAST(NULL AS BIGINT) AS ended_at,
    NULL AS claim_kind, NULL AS claim_owner, CAST(NULL AS BIGINT) AS claim_at, e.occurred_at
FROM broadcasts b
JOIN inboxes x ON x.cursor < b.number
JOIN entities r ON r.number = x.recipient AND r.kind = 'agent' AND r.retired_at IS NULL
JOIN events e ON e.arrival = b.arrival
LEFT JOIN entities s ON s.number = b.sender
WHERE (b.sender IS NULL OR b.sender <> r.number)
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.recipient = r.number AND i.dedup_key = b.dedup_key);

-- A gate with its owner and its resolution, without its waiters.
CREATE VIEW gate_details AS
SELECT
    g.number, g.id, g.name, g.kind, o.name AS owner, m.name AS made_by, g.awaits, g.instruction, g.deadline,
    g.at_deadline, g.fail, g.trouble, g.escalated_at, g.created_at, r.ending, r.reason, b.name AS ended_by, r.ended_at
FROM gates g
JOIN entities o ON o.number = g.owner
LEFT JOIN entities m ON m.number = g.made_by
LEFT JOIN resolutions r ON r.gate = g.number
LEFT JOIN entities b ON b.number = r.ended_by;

-- A decision with its gate and its asker, without respondents and answers.
CREATE VIEW decision_details AS
SELECT
    d.number, d.id, g.id AS gate, a.name AS asker, d.question, d.options, d.free_text, d.urgency, d.default_option,
    g.deadline, d.context, d.context_hash, d.ref_type, d.ref_id, d.session, d.iteration, d.guidance, d.created_at
FROM decisions d
JOIN gates g ON g.number = d.gate
JOIN entities a ON a.number = d.asker;
