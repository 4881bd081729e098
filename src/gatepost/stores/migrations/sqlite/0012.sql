-- oldest: 11

-- The accounts of entities on the ledger.
CREATE TABLE ledger_accounts (
    entity INTEGER PRIMARY KEY REFERENCES entities, account TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL
) STRICT;

-- A topic of the local ledger. It numbers its messages: an append locks the row.
CREATE TABLE topics (
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    kind           TEXT NOT NULL CHECK (kind IN ('inbound', 'outbound', 'work', 'broadcast', 'file')),
    memo           TEXT NOT NULL,
    -- whose it is; NULL if it belongs to nobody
    entity         INTEGER REFERENCES entities,
    work_item      INTEGER REFERENCES work_items,
    -- the number, the time in nanoseconds and the running hash of its last message; the hash is base64
    last_sequence  INTEGER NOT NULL,
    last_timestamp INTEGER NOT NULL,
    running_hash   TEXT NOT NULL,
    created_at     INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX topics_entity ON topics (entity, kind) WHERE entity IS NOT NULL;
CREATE UNIQUE INDEX topics_work_item ON topics (work_item) WHERE work_item IS NOT NULL;
CREATE UNIQUE INDEX topics_broadcast ON topics (kind) WHERE kind = 'broadcast';
CREATE UNIQUE INDEX topics_file ON topics (memo) WHERE kind = 'file';

-- The messages of topics. Content and running hash are base64; a longer content is in several chunks.
CREATE TABLE topic_messages (
    topic             INTEGER NOT NULL REFERENCES topics,
    sequence          INTEGER NOT NULL,
    timestamp         INTEGER NOT NULL,
    payer             TEXT NOT NULL,
    content           TEXT NOT NULL,
    running_hash      TEXT NOT NULL,
    chunk_transaction TEXT,
    chunk_number      INTEGER,
    chunk_total       INTEGER,
    -- the record that it is of
    outgoing          INTEGER REFERENCES outgoing,
    PRIMARY KEY (topic, sequence)
) STRICT, WITHOUT ROWID;

-- The last number that was given to an account or a topic.
INSERT INTO counters VALUES ('ledger', 1000);

-- A topic with the names that it refers to.
CREATE VIEW topic_details AS
SELECT
    t.number, t.id, t.kind, t.memo, e.name AS entity, w.type AS item_type, w.id AS item_id, t.last_sequence,
    t.last_timestamp, t.created_at
FROM topics t
LEFT JOIN entities e ON e.number = t.entity
LEFT JOIN work_items w ON w.number = t.work_item;
