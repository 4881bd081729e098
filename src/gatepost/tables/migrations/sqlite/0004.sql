-- oldest: 1

-- What keeps somebody from stopping. How it ended is a row of its own; `ended_at` is here for the indexes.
CREATE TABLE gates (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('human', 'decision', 'timer', 'event', 'mail', 'command', 'ci')),
    owner        INTEGER NOT NULL REFERENCES entities,
    made_by      INTEGER REFERENCES entities,
    awaits       TEXT,
    -- who has to do something about it, so that it ends when they leave
    awaited      INTEGER REFERENCES entities,
    -- what has to come to its owner after this arrival
    event_type   TEXT,
    event_source TEXT,
    since        INTEGER,
    instruction  TEXT NOT NULL,
    deadline     INTEGER,
    at_deadline  TEXT NOT NULL CHECK (at_deadline IN ('open', 'escalate')),
    fail         TEXT NOT NULL CHECK (fail IN ('open', 'closed')),
    trouble      TEXT,
    escalated_at INTEGER,
    -- when somebody has to look at the world outside for it
    look_at      INTEGER,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;

CREATE INDEX gates_owner ON gates (owner, number);
CREATE INDEX gates_pending ON gates (owner) WHERE ended_at IS NULL;
CREATE INDEX gates_awaited ON gates (awaited) WHERE ended_at IS NULL AND awaited IS NOT NULL;
CREATE INDEX gates_deadline ON gates (deadline)
    WHERE ended_at IS NULL AND deadline IS NOT NULL AND escalated_at IS NULL;
CREATE INDEX gates_watching ON gates (owner) WHERE ended_at IS NULL AND event_type IS NOT NULL;
CREATE INDEX gates_looking ON gates (look_at) WHERE ended_at IS NULL AND look_at IS NOT NULL;
CREATE INDEX gates_ended ON gates (ended_at) WHERE ended_at IS NOT NULL;

CREATE TABLE waiters (
    gate   INTEGER NOT NULL REFERENCES gates ON DELETE CASCADE,
    entity INTEGER NOT NULL REFERENCES entities,
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

-- Who may answer.
CREATE TABLE asked (
    decision INTEGER NOT NULL REFERENCES decisions,
    entity   INTEGER NOT NULL REFERENCES entities,
    PRIMARY KEY (decision, entity)
) STRICT, WITHOUT ROWID;

CREATE INDEX asked_entity ON asked (entity, decision);

-- How a round ended: once.
CREATE TABLE answers (
    decision    INTEGER NOT NULL REFERENCES decisions,
    iteration   INTEGER NOT NULL,
    outcome     TEXT NOT NULL
        CHECK (outcome IN ('answered', 'rejected', 'defaulted', 'expired', 'withdrawn', 'orphaned', 'again')),
    option      TEXT,
    words       TEXT,
    answered_by INTEGER REFERENCES entities,
    answered_at INTEGER NOT NULL,
    PRIMARY KEY (decision, iteration)
) STRICT, WITHOUT ROWID;

CREATE INDEX answers_at ON answers (answered_at);

-- A plan may wait for a gate instead of a time; it is due when that is resolved.
ALTER TABLE plans ADD COLUMN gate INTEGER REFERENCES gates;

CREATE INDEX plans_gate ON plans (gate) WHERE gate IS NOT NULL;

-- How often a model would not go on with a run after something was done in it.
ALTER TABLE runs ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0;

-- A gate with all that is known of it but its waiters, in the order in which `tables/gates.py` reads it.
CREATE VIEW gatehouse AS
SELECT
    g.number, g.id, g.name, g.kind, o.name AS owner, m.name AS made_by, g.awaits, g.instruction, g.deadline,
    g.at_deadline, g.fail, g.trouble, g.escalated_at, g.created_at, r.ending, r.reason, b.name AS ended_by, r.ended_at
FROM gates g
JOIN entities o ON o.number = g.owner
LEFT JOIN entities m ON m.number = g.made_by
LEFT JOIN resolutions r ON r.gate = g.number
LEFT JOIN entities b ON b.number = r.ended_by;

-- A decision with all that is known of it but who was asked and what was answered, as `tables/decisions.py` reads it.
CREATE VIEW questions AS
SELECT
    d.number, d.id, g.id AS gate, a.name AS asker, d.question, d.options, d.free_text, d.urgency, d.default_option,
    g.deadline, d.context, d.context_hash, d.ref_type, d.ref_id, d.session, d.iteration, d.guidance, d.created_at
FROM decisions d
JOIN gates g ON g.number = d.gate
JOIN entities a ON a.number = d.asker;
