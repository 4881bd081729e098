-- oldest: 13

-- The accounts of entities, on each ledger: `local`, or the network of Hedera.
ALTER TABLE ledger_accounts RENAME TO old_ledger_accounts;
CREATE TABLE ledger_accounts (
    entity        INTEGER NOT NULL REFERENCES entities,
    account       TEXT NOT NULL,
    created_at    INTEGER NOT NULL,
    network       TEXT NOT NULL,
    -- the HCS-11 profile that was published last, as JSON, and the topic of its file
    profile       TEXT,
    profile_topic TEXT,
    PRIMARY KEY (network, entity),
    UNIQUE (network, account)
) STRICT, WITHOUT ROWID;
INSERT INTO ledger_accounts (entity, account, created_at, network)
SELECT entity, account, created_at, 'local' FROM old_ledger_accounts;
DROP TABLE old_ledger_accounts;

-- A topic of a ledger. An append to a topic of the local ledger numbers its messages, and locks the row; of a topic
-- elsewhere, the row says how far it was read.
DROP VIEW topic_details;
DROP INDEX topics_entity;
DROP INDEX topics_work_item;
DROP INDEX topics_broadcast;
DROP INDEX topics_file;
ALTER TABLE topics RENAME TO old_topics;
CREATE TABLE topics (
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL,
    kind           TEXT NOT NULL CHECK (
        kind IN ('inbound', 'outbound', 'work', 'broadcast', 'definitions', 'file', 'connection', 'peer')
    ),
    memo           TEXT NOT NULL,
    -- whose it is; NULL if it belongs to nobody
    entity         INTEGER REFERENCES entities,
    work_item      INTEGER REFERENCES work_items,
    -- the number, the time in nanoseconds and the running hash of its last message; the hash is base64
    last_sequence  INTEGER NOT NULL,
    last_timestamp INTEGER NOT NULL,
    running_hash   TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    network        TEXT NOT NULL,
    UNIQUE (network, id)
) STRICT;
INSERT INTO topics
SELECT
    number, id, kind, memo, entity, work_item, last_sequence, last_timestamp, running_hash, created_at, 'local'
FROM old_topics;
CREATE UNIQUE INDEX topics_entity ON topics (entity, network, kind) WHERE kind IN ('inbound', 'outbound');
CREATE UNIQUE INDEX topics_work_item ON topics (work_item, network) WHERE work_item IS NOT NULL;
CREATE UNIQUE INDEX topics_single ON topics (network, kind) WHERE kind IN ('broadcast', 'definitions');
CREATE UNIQUE INDEX topics_file ON topics (network, memo) WHERE kind = 'file';

-- The messages refer to the new table.
ALTER TABLE topic_messages RENAME TO old_topic_messages;
CREATE TABLE topic_messages (
    topic             INTEGER NOT NULL REFERENCES topics,
    sequence          INTEGER NOT NULL,
    timestamp         INTEGER NOT NULL,
    payer             TEXT NOT NULL,
    -- base64, as the running hash is
    content           TEXT NOT NULL,
    running_hash      TEXT NOT NULL,
    chunk_transaction TEXT,
    chunk_number      INTEGER,
    chunk_total       INTEGER,
    -- the record that it is of
    outgoing          INTEGER REFERENCES outgoing,
    -- why it does not count; NULL if it counts
    refused           TEXT,
    PRIMARY KEY (topic, sequence)
) STRICT, WITHOUT ROWID;
INSERT INTO topic_messages
SELECT
    topic, sequence, timestamp, payer, content, running_hash, chunk_transaction, chunk_number, chunk_total, outgoing,
    NULL
FROM old_topic_messages;
DROP TABLE old_topic_messages;
DROP TABLE old_topics;
CREATE INDEX topic_messages_chunk ON topic_messages (topic, chunk_transaction) WHERE chunk_transaction IS NOT NULL;

-- The last beginning of validity, in nanoseconds, of the transactions that an account has paid for: ids differ.
CREATE TABLE ledger_payers (
    network TEXT NOT NULL, account TEXT NOT NULL, last_start INTEGER NOT NULL, PRIMARY KEY (network, account)
) STRICT, WITHOUT ROWID;

-- The transactions that are under way, each with the id that it has, whatever happens; and what came of it, as JSON.
CREATE TABLE ledger_steps (
    network        TEXT NOT NULL,
    step           TEXT NOT NULL,
    transaction_id TEXT NOT NULL,
    receipt        TEXT,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (network, step)
) STRICT, WITHOUT ROWID;

-- Connections with agents outside (HCS-10).
CREATE TABLE connections (
    number       INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    network      TEXT NOT NULL,
    -- whose it is, and who is at its other end; the entity of the other end exists from the acceptance on
    entity       INTEGER NOT NULL REFERENCES entities,
    peer         INTEGER REFERENCES entities,
    peer_account TEXT NOT NULL,
    -- NULL until it was looked up
    peer_inbound TEXT,
    is_incoming  INTEGER NOT NULL CHECK (is_incoming IN (0, 1)),
    state        TEXT NOT NULL CHECK (state IN ('requested', 'accepting', 'open', 'refused', 'closing', 'closed')),
    -- the number of the request in the inbound topic of who was asked; NULL until it is posted
    request      INTEGER,
    topic        INTEGER REFERENCES topics,
    note         TEXT,
    -- messages of the other end in the last hour that had some, by the clock
    hour         INTEGER NOT NULL DEFAULT 0,
    hour_count   INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER
) STRICT;
CREATE UNIQUE INDEX connections_request ON connections (network, entity, peer_account, is_incoming, request)
WHERE request IS NOT NULL;
CREATE INDEX connections_topic ON connections (topic) WHERE topic IS NOT NULL;
CREATE INDEX connections_peer ON connections (peer, entity) WHERE peer IS NOT NULL;

-- Of what was sent: the key by which its sender repeats it, its hops, whether it is on the ledger, and when mail that
-- waits for the ledger is delivered without it.
ALTER TABLE outgoing ADD COLUMN dedup_key TEXT;
ALTER TABLE outgoing ADD COLUMN hops INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outgoing ADD COLUMN post TEXT CHECK (post IN ('unposted', 'posted', 'failed'));
ALTER TABLE outgoing ADD COLUMN deliver_at INTEGER;
UPDATE outgoing SET post = 'posted' WHERE posted_at IS NOT NULL;
CREATE INDEX outgoing_dedup ON outgoing (sender, dedup_key) WHERE dedup_key IS NOT NULL;
CREATE INDEX outgoing_unposted ON outgoing (sender, number) WHERE post = 'unposted';
CREATE INDEX outgoing_deliver_at ON outgoing (deliver_at) WHERE deliver_at IS NOT NULL;

DROP VIEW outgoing_details;
CREATE VIEW outgoing_details AS
SELECT
    o.number, o.id, o.kind, s.name AS sender, o.targets, o.data, o.ref_type, o.ref_id, o.thread, o.reply_to, o.event,
    o.ack, o.ack_deadline, o.created_at, o.posted_at, o.arrival, o.dedup_key, o.hops, o.post, o.deliver_at
FROM outgoing o
JOIN entities s ON s.number = o.sender;

-- A topic with the names that it refers to.
CREATE VIEW topic_details AS
SELECT
    t.number, t.network, t.id, t.kind, t.memo, e.name AS entity, w.type AS item_type, w.id AS item_id,
    t.last_sequence, t.last_timestamp, t.created_at
FROM topics t
LEFT JOIN entities e ON e.number = t.entity
LEFT JOIN work_items w ON w.number = t.work_item;

-- A connection with the names that it refers to.
CREATE VIEW connection_details AS
SELECT
    c.number, c.id, c.network, e.name AS entity, p.name AS peer, c.peer_account, c.peer_inbound, c.is_incoming,
    c.state, c.request, t.id AS topic, c.note, c.created_at, c.ended_at
FROM connections c
JOIN entities e ON e.number = c.entity
LEFT JOIN entities p ON p.number = c.peer
LEFT JOIN topics t ON t.number = c.topic;
