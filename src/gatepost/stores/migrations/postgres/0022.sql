-- oldest: 22

-- A snoozed item is pending and hidden until then, or until the event that it awaits comes before.
ALTER TABLE items ADD COLUMN hidden_until bigint;
ALTER TABLE items ADD COLUMN awaits text;
CREATE INDEX items_hidden ON items (hidden_until) WHERE state = 'pending' AND hidden_until IS NOT NULL;
CREATE INDEX items_awaiting ON items (recipient) WHERE state = 'pending' AND awaits IS NOT NULL;

-- An item with its event, its recipient and its claim.
CREATE OR REPLACE VIEW inbox_items AS
SELECT
    i.recipient, i.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, i.priority, i.dedup_key, e.created_at, i.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, i.wakes,
    i.state, i.attempts, i.seen_at, i.ended_at, c.kind AS claim_kind, c.owner AS claim_owner, c.taken_at AS claim_at,
    e.occurred_at, i.times, i.hidden_until, i.awaits
FROM items i
JOIN events e ON e.arrival = i.arrival
JOIN entities r ON r.number = i.recipient
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN claims c ON c.number = i.claim;

-- A broadcast as the item that it will be for an agent that has not taken it yet; the same columns as inbox_items.
CREATE OR REPLACE VIEW pending_broadcasts AS
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
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.recipient = r.number AND i.dedup_key = b.dedup_key);
