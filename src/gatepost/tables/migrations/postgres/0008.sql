-- oldest: 8

-- When an event happened by its source's own clock; null where that is when it was created.
ALTER TABLE events ADD COLUMN occurred_at BIGINT;

-- An item with all that is known of it, in the order in which `tables/items.py` reads it.
CREATE OR REPLACE VIEW inbox AS
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

-- A broadcast as the item it will be for an agent that has not taken it yet.
CREATE OR REPLACE VIEW outbox AS
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
