-- oldest: 14

-- How something outside reaches agents. The secret of a webhook is only read to verify a request.
ALTER TABLE triggers RENAME TO old_triggers;
CREATE TABLE triggers (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL UNIQUE,
    provider     TEXT NOT NULL,
    scheme       TEXT,
    secret       TEXT,
    -- an address; NULL if the rules decide
    target       TEXT,
    prompt       TEXT,
    active       INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    -- an address
    owner        TEXT NOT NULL,
    -- what only its provider needs, a JSON object
    config       TEXT NOT NULL,
    is_from_file INTEGER NOT NULL CHECK (is_from_file IN (0, 1)),
    -- of a cron trigger: when it fires next
    next_at      INTEGER,
    -- of a bot: why it does not work
    error        TEXT
) STRICT;
INSERT INTO triggers
SELECT
    t.number, t.id, t.name, t.provider, t.scheme, t.secret, t.target, t.prompt, t.active, t.created_at,
    coalesce(e.name, 'admin'), '{}', 0, NULL, NULL
FROM old_triggers t
LEFT JOIN entities e ON e.number = t.owner;
DROP TABLE old_triggers;
CREATE INDEX triggers_next_at ON triggers (next_at) WHERE next_at IS NOT NULL;

-- How far a channel was read: its last update, and how often its numbers have begun anew.
CREATE TABLE channel_cursors (
    trigger INTEGER PRIMARY KEY REFERENCES triggers, last_update INTEGER NOT NULL, epoch INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- Which address gets what comes through a channel. Filters are a JSON object, targets a JSON list.
CREATE TABLE route_rules (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL UNIQUE,
    channel    TEXT NOT NULL,
    filters    TEXT NOT NULL,
    targets    TEXT NOT NULL,
    rank       INTEGER NOT NULL,
    active     INTEGER NOT NULL,
    made_by    INTEGER NOT NULL REFERENCES entities,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- What came through a channel and nobody got. The envelope is JSON, and so is what else its event says.
CREATE TABLE unrouted (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    trigger    INTEGER REFERENCES triggers,
    -- who wrote it, if it is somebody here
    sender     INTEGER REFERENCES entities,
    dedup_key  TEXT,
    envelope   TEXT NOT NULL,
    event      TEXT NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN ('no_route', 'no_target')),
    created_at INTEGER NOT NULL,
    handled_at INTEGER,
    handled_by INTEGER REFERENCES entities,
    -- how it was handled
    outcome    TEXT CHECK (outcome IN ('replayed', 'discarded'))
) STRICT;
CREATE UNIQUE INDEX unrouted_dedup ON unrouted (dedup_key) WHERE dedup_key IS NOT NULL;
CREATE INDEX unrouted_waiting ON unrouted (number) WHERE handled_at IS NULL;

-- Conversations on channels. `base` is the session without its generation, which a reset raises.
CREATE TABLE channel_sessions (
    number     INTEGER PRIMARY KEY,
    channel    TEXT NOT NULL,
    trigger    INTEGER REFERENCES triggers,
    base       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    person     INTEGER REFERENCES entities,
    -- as the channel names them
    chat       TEXT,
    user_id    TEXT,
    thread     TEXT,
    display    TEXT,
    created_at INTEGER NOT NULL,
    last_at    INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX channel_sessions_base ON channel_sessions (channel, coalesce(trigger, 0), base);
CREATE INDEX channel_sessions_person ON channel_sessions (person) WHERE person IS NOT NULL;

-- Users of channels who asked to be let in, and the persons that they are.
CREATE TABLE pairings (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    trigger     INTEGER NOT NULL REFERENCES triggers,
    chat        TEXT NOT NULL,
    user_id     TEXT NOT NULL,
    display     TEXT NOT NULL,
    -- the SHA-256 of the code; empty when it is not valid any more
    code        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('requested', 'approved', 'denied', 'expired')),
    person      INTEGER REFERENCES entities,
    answered_by INTEGER REFERENCES entities,
    expires_at  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    answered_at INTEGER
) STRICT;
CREATE UNIQUE INDEX pairings_user ON pairings (trigger, chat, user_id) WHERE state IN ('requested', 'approved');
CREATE INDEX pairings_person ON pairings (person) WHERE person IS NOT NULL;

-- What people write on channels, what systems ask them there, and what systems answer. One lock numbers the rows and
-- their changes.
CREATE TABLE shared_entries (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL CHECK (kind IN ('user_prompt', 'system_question', 'system_response')),
    channel     TEXT NOT NULL,
    session     TEXT NOT NULL,
    trigger     INTEGER REFERENCES triggers,
    sender      INTEGER REFERENCES entities,
    -- whose session it was when it was written
    person      INTEGER REFERENCES entities,
    display     TEXT,
    content     TEXT NOT NULL,
    -- of a question
    status      TEXT CHECK (status IN ('pending', 'answered', 'ended')),
    answer      TEXT,
    answered_at INTEGER,
    metadata    TEXT NOT NULL,
    decision    INTEGER REFERENCES decisions,
    created_at  INTEGER NOT NULL,
    -- where a stream has it: the number of its last change
    position    INTEGER NOT NULL UNIQUE
) STRICT;
CREATE INDEX shared_entries_session ON shared_entries (channel, session, number);
CREATE INDEX shared_entries_pending ON shared_entries (channel, session, number) WHERE status = 'pending';
CREATE INDEX shared_entries_person ON shared_entries (person, number) WHERE person IS NOT NULL;
CREATE INDEX shared_entries_decision ON shared_entries (decision) WHERE decision IS NOT NULL;
INSERT INTO counters VALUES ('shared', 0);

-- What is sent on channels, in the order of its numbers for each chat.
CREATE TABLE channel_messages (
    number      INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    trigger     INTEGER NOT NULL REFERENCES triggers,
    chat        TEXT NOT NULL,
    thread      TEXT,
    -- whom it is for: it is sent only while the user is let in, and is that person; no user is whoever is there
    user_id     TEXT,
    person      INTEGER REFERENCES entities,
    content     TEXT NOT NULL,
    -- the buttons, a JSON list of {"id", "label"}
    options     TEXT,
    decision    INTEGER REFERENCES decisions,
    -- a message that is to be changed instead: the number of the first one
    replaces    INTEGER REFERENCES channel_messages,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
    -- parts that are sent, and the ids that the channel gave to them, a JSON list
    sent_ids    TEXT NOT NULL,
    error       TEXT,
    created_at  INTEGER NOT NULL,
    sent_at     INTEGER
) STRICT;
CREATE INDEX channel_messages_pending ON channel_messages (trigger, chat, number) WHERE state = 'pending';
CREATE INDEX channel_messages_decision ON channel_messages (decision) WHERE decision IS NOT NULL;

-- Voice messages that are being transcribed; their envelope is JSON.
CREATE TABLE voice_messages (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    trigger    INTEGER NOT NULL REFERENCES triggers,
    dedup_key  TEXT NOT NULL UNIQUE,
    -- who spoke, if it is somebody here
    person     INTEGER REFERENCES entities,
    envelope   TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'transcribed', 'failed')),
    -- when it goes on without a transcript
    due_at     INTEGER,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX voice_messages_due ON voice_messages (due_at) WHERE state = 'pending';
