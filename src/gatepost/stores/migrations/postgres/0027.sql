-- oldest: 27

-- A pending item: one event that waits in one inbox. The rows lie in the order in which they get into a batch, people
-- before machines, and are narrow, because there is one for each recipient.
CREATE TABLE pending (
    recipient       bigint NOT NULL,
    priority        smallint NOT NULL,
    is_from_machine boolean NOT NULL,
    arrival         bigint NOT NULL,
    source          text NOT NULL,
    expires_at      bigint,
    wakes           boolean NOT NULL,
    attempts        smallint NOT NULL,
    size            integer NOT NULL,
    times           integer NOT NULL,
    seen_at         bigint,
    hidden_until    bigint,
    awaits          text,
    -- the receipt of an item that was done, and is pending again
    claim           bigint,
    PRIMARY KEY (recipient, priority, is_from_machine, arrival)
);

-- An item that is not pending any more. One that was taken is claimed while its claim is open, and delivered from the
-- time when it is acked: an ack changes the claim, and no item.
CREATE TABLE past (
    recipient       bigint NOT NULL,
    arrival         bigint NOT NULL,
    priority        smallint NOT NULL,
    is_from_machine boolean NOT NULL,
    source          text NOT NULL,
    expires_at      bigint,
    wakes           boolean NOT NULL,
    attempts        smallint NOT NULL,
    size            integer NOT NULL,
    times           integer NOT NULL,
    seen_at         bigint,
    state           text NOT NULL CHECK (state IN ('taken', 'delivered', 'expired', 'dead', 'discarded')),
    claim           bigint,
    ended_at        bigint,
    PRIMARY KEY (recipient, arrival)
);

-- The keys by which an inbox recognises a repeat; each is freed with its item.
CREATE TABLE dedup_keys (
    recipient bigint NOT NULL,
    dedup_key text NOT NULL,
    arrival   bigint NOT NULL,
    PRIMARY KEY (recipient, dedup_key)
);

ALTER TABLE events ADD COLUMN dedup_key text;

UPDATE events SET dedup_key = k.dedup_key
FROM (
    SELECT arrival, min(dedup_key) AS dedup_key
    FROM (SELECT arrival, dedup_key FROM items UNION ALL SELECT arrival, dedup_key FROM broadcasts) AS known
    WHERE dedup_key IS NOT NULL
    GROUP BY arrival
) AS k
WHERE k.arrival = events.arrival;
INSERT INTO dedup_keys (recipient, dedup_key, arrival)
SELECT recipient, dedup_key, arrival FROM items WHERE dedup_key IS NOT NULL ORDER BY recipient, dedup_key;
INSERT INTO pending
    (recipient, priority, is_from_machine, arrival, source, expires_at, wakes, attempts, size, times, seen_at,
     hidden_until, awaits, claim)
SELECT
    recipient, priority, NOT sender_is_person, arrival, source, expires_at, wakes, attempts, size, times, seen_at,
    hidden_until, awaits, claim
FROM items
WHERE state = 'pending'
ORDER BY recipient, priority, NOT sender_is_person, arrival;
INSERT INTO past
    (recipient, arrival, priority, is_from_machine, source, expires_at, wakes, attempts, size, times, seen_at, state,
     claim, ended_at)
SELECT
    i.recipient, i.arrival, i.priority, NOT i.sender_is_person, i.source, i.expires_at, i.wakes, i.attempts, i.size,
    i.times, i.seen_at,
    CASE WHEN i.state = 'claimed' OR (i.state = 'delivered' AND c.outcome = 'acked') THEN 'taken' ELSE i.state END,
    i.claim,
    CASE WHEN i.state = 'delivered' AND c.outcome = 'acked' THEN NULL ELSE i.ended_at END
FROM items i
LEFT JOIN claims c ON c.number = i.claim
WHERE i.state <> 'pending'
ORDER BY i.recipient, i.arrival;

-- Now, because each row that is inserted would look for what it refers to.
ALTER TABLE pending
    ADD FOREIGN KEY (recipient) REFERENCES entities,
    ADD FOREIGN KEY (arrival) REFERENCES events,
    ADD FOREIGN KEY (claim) REFERENCES claims;
ALTER TABLE past
    ADD FOREIGN KEY (recipient) REFERENCES entities,
    ADD FOREIGN KEY (arrival) REFERENCES events,
    ADD FOREIGN KEY (claim) REFERENCES claims;
ALTER TABLE dedup_keys
    ADD FOREIGN KEY (recipient) REFERENCES entities;

CREATE UNIQUE INDEX pending_event ON pending (arrival, recipient);
CREATE INDEX pending_source ON pending (recipient, source, priority, arrival);
CREATE INDEX pending_expiry ON pending (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX pending_hidden ON pending (hidden_until) WHERE hidden_until IS NOT NULL;
CREATE INDEX pending_awaiting ON pending (recipient) WHERE awaits IS NOT NULL;
CREATE INDEX pending_claim ON pending (claim) WHERE claim IS NOT NULL;
CREATE INDEX past_event ON past (arrival, recipient);
CREATE INDEX past_claim ON past (claim) WHERE claim IS NOT NULL;
CREATE INDEX past_ended ON past (ended_at) WHERE ended_at IS NOT NULL;

DROP VIEW pending_broadcasts;
DROP VIEW inbox_items;
DROP TABLE items;

-- Pending items, and those that are not pending any more, with the same columns.
CREATE VIEW pending_items AS
SELECT
    recipient, arrival, priority, is_from_machine, source, expires_at, wakes,
    CAST('pending' AS TEXT) AS state, claim, attempts, seen_at, CAST(NULL AS BIGINT) AS ended_at, size, times,
    hidden_until, awaits
FROM pending;

CREATE VIEW past_items AS
SELECT
    recipient, arrival, priority, is_from_machine, source, expires_at, wakes,
    CAST(
        CASE
            WHEN state <> 'taken' THEN state
            WHEN (SELECT c.outcome FROM claims c WHERE c.number = past.claim) = 'acked' THEN 'delivered'
            ELSE 'claimed'
        END
        AS TEXT
    ) AS state,
    claim, attempts, seen_at,
    CAST(
        coalesce(ended_at, (SELECT c.ended_at FROM claims c WHERE c.number = past.claim AND c.outcome = 'acked'))
        AS BIGINT
    ) AS ended_at,
    size, times, CAST(NULL AS BIGINT) AS hidden_until, CAST(NULL AS TEXT) AS awaits
FROM past;

CREATE VIEW items AS
SELECT * FROM pending_items
UNION ALL
SELECT * FROM past_items;

-- An item with its event, its recipient and its claim.
CREATE VIEW inbox_items AS
SELECT
    i.recipient, i.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, i.priority, e.dedup_key, e.created_at, i.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, i.wakes,
    i.state, i.attempts, i.seen_at, i.ended_at, c.kind AS claim_kind, c.owner AS claim_owner, c.taken_at AS claim_at,
    e.occurred_at, i.times, i.hidden_until, i.awaits
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
    NULL AS claim_kind, NULL AS claim_owner, CAST(NULL AS BIGINT) AS claim_at, e.occurred_at,
    1 AS times, CAST(NULL AS BIGINT) AS hidden_until, CAST(NULL AS TEXT) AS awaits
FROM broadcasts b
JOIN inboxes x ON x.cursor < b.number
JOIN entities r ON r.number = x.recipient AND r.kind = 'agent' AND r.retired_at IS NULL
JOIN events e ON e.arrival = b.arrival
LEFT JOIN entities s ON s.number = b.sender
WHERE (b.sender IS NULL OR b.sender <> r.number)
    AND NOT EXISTS (SELECT 1 FROM dedup_keys k WHERE k.recipient = r.number AND k.dedup_key = b.dedup_key);
