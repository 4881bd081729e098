-- name: item_columns (part)
SELECT
    i.recipient, i.arrival, r.name AS recipient_name,
    e.id, e.type, e.source, s.name AS sender_name, s.display AS sender_display, s.kind AS sender_kind,
    e.subject, e.content, e.data, i.priority, e.dedup_key, e.created_at, i.expires_at,
    e.ref_type, e.ref_id, e.route_channel, e.route_session, e.hops, e.trust, i.wakes,
    i.state, i.attempts, i.seen_at, i.ended_at, c.kind AS claim_kind, c.owner AS claim_owner, c.taken_at AS claim_at,
    e.occurred_at, i.times, i.hidden_until, i.awaits

-- name: item_joins (part)
JOIN events e ON e.arrival = i.arrival
JOIN entities r ON r.number = i.recipient
LEFT JOIN entities s ON s.number = e.sender
LEFT JOIN claims c ON c.number = i.claim

-- name: item_filters (part)
-- A filter that is null matches everything. A pending item past its time is shown as expired.
    AND (
        CAST(:state AS TEXT) IS NULL
        OR CASE WHEN i.state = 'pending' AND i.expires_at <= :now THEN 'expired' ELSE i.state END = CAST(:state AS TEXT)
    )
    AND (CAST(:type AS TEXT) IS NULL OR e.type = CAST(:type AS TEXT))
    AND (CAST(:priority AS SMALLINT) IS NULL OR i.priority = CAST(:priority AS SMALLINT))
    AND (CAST(:sender AS TEXT) IS NULL OR s.name = CAST(:sender AS TEXT))
    AND (CAST(:origin AS TEXT) IS NULL OR i.source = CAST(:origin AS TEXT))
    AND (
        CAST(:hidden AS BOOLEAN) IS NULL
        OR COALESCE(i.state = 'pending' AND i.hidden_until > :now, FALSE) = CAST(:hidden AS BOOLEAN)
    )
    AND (CAST(:ref_type AS TEXT) IS NULL OR (e.ref_type = CAST(:ref_type AS TEXT) AND e.ref_id = CAST(:ref_id AS TEXT)))
    AND (CAST(:channel AS TEXT) IS NULL OR e.route_channel = CAST(:channel AS TEXT))
    AND (
        CAST(:message_type AS TEXT) IS NULL
        OR CASE WHEN e.type = 'mail' THEN COALESCE(json_extract(e.data, '$.messageType'), 'message') END
            = CAST(:message_type AS TEXT)
    )
    AND (CAST(:since AS BIGINT) IS NULL OR e.created_at >= CAST(:since AS BIGINT))
    AND (CAST(:until AS BIGINT) IS NULL OR e.created_at < CAST(:until AS BIGINT))
    AND (
        CAST(:pattern AS TEXT) IS NULL
        OR LOWER(COALESCE(e.subject, '') || ' ' || e.content) LIKE LOWER(CAST(:pattern AS TEXT)) ESCAPE '!'
    )

-- name: broadcast_filters (part)
-- The same for broadcasts.
    AND (expires_at IS NULL OR expires_at > :now)
    AND (CAST(:state AS TEXT) IS NULL OR CAST(:state AS TEXT) = 'pending')
    AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
    AND (CAST(:priority AS SMALLINT) IS NULL OR priority = CAST(:priority AS SMALLINT))
    AND (CAST(:sender AS TEXT) IS NULL OR sender_name = CAST(:sender AS TEXT))
    AND (CAST(:origin AS TEXT) IS NULL OR COALESCE(sender_name, source) = CAST(:origin AS TEXT))
    AND (CAST(:hidden AS BOOLEAN) IS NULL OR NOT CAST(:hidden AS BOOLEAN))
    AND (CAST(:ref_type AS TEXT) IS NULL OR (ref_type = CAST(:ref_type AS TEXT) AND ref_id = CAST(:ref_id AS TEXT)))
    AND (CAST(:channel AS TEXT) IS NULL OR route_channel = CAST(:channel AS TEXT))
    AND (
        CAST(:message_type AS TEXT) IS NULL
        OR CASE WHEN type = 'mail' THEN COALESCE(json_extract(data, '$.messageType'), 'message') END
            = CAST(:message_type AS TEXT)
    )
    AND (CAST(:since AS BIGINT) IS NULL OR created_at >= CAST(:since AS BIGINT))
    AND (CAST(:until AS BIGINT) IS NULL OR created_at < CAST(:until AS BIGINT))
    AND (
        CAST(:pattern AS TEXT) IS NULL
        OR LOWER(COALESCE(subject, '') || ' ' || content) LIKE LOWER(CAST(:pattern AS TEXT)) ESCAPE '!'
    )

-- name: list_past
-- The items of an inbox between two arrivals that are not pending. The arrivals of items and events are the same; both
-- are limited, because PostgreSQL may read either first.
{item_columns}
FROM past_items i
{item_joins}
WHERE i.recipient = :recipient AND i.arrival > :after AND i.arrival < :before
    AND e.arrival > :after AND e.arrival < :before
    {item_filters}
ORDER BY i.arrival
LIMIT :limit

-- name: list_past_newest
-- The same backwards.
{item_columns}
FROM past_items i
{item_joins}
WHERE i.recipient = :recipient AND i.arrival > :after AND i.arrival < :before
    AND e.arrival > :after AND e.arrival < :before
    {item_filters}
ORDER BY i.arrival DESC
LIMIT :limit

-- name: list_pending
-- The pending items of an inbox of one priority, of people or of machines, between two arrivals.
{item_columns}
FROM pending_items i
{item_joins}
WHERE i.recipient = :recipient AND i.priority = :class_priority AND i.is_from_machine = :class_is_from_machine
    AND i.arrival > :after AND i.arrival < :before AND e.arrival > :after AND e.arrival < :before
    {item_filters}
ORDER BY i.arrival
LIMIT :limit

-- name: list_pending_newest
-- The same backwards.
{item_columns}
FROM pending_items i
{item_joins}
WHERE i.recipient = :recipient AND i.priority = :class_priority AND i.is_from_machine = :class_is_from_machine
    AND i.arrival > :after AND i.arrival < :before AND e.arrival > :after AND e.arrival < :before
    {item_filters}
ORDER BY i.arrival DESC
LIMIT :limit

-- name: list_inbox_broadcasts
-- The broadcasts that an agent has not taken yet, as the items that they will be. The plus makes SQLite begin with the
-- broadcasts, which are few, and not with all events.
SELECT * FROM pending_broadcasts
WHERE recipient = :recipient AND +arrival > :after AND +arrival < :before
    {broadcast_filters}
ORDER BY
    CASE WHEN CAST(:newest_first AS BOOLEAN) THEN -arrival ELSE arrival END,
    CASE WHEN CAST(:newest_first AS BOOLEAN) THEN -recipient ELSE recipient END
LIMIT :limit

-- name: list_all_pending
-- The pending items of all inboxes between two arrivals. The items of one arrival are in the order of their recipients; a
-- page that begins among them begins after a recipient.
{item_columns}
FROM pending_items i
{item_joins}
WHERE i.arrival > :after AND i.arrival < :before
    AND e.arrival > :after AND e.arrival < :before
    AND (
        CAST(:last_recipient AS BIGINT) IS NULL
        OR i.arrival <> :last_arrival
        OR i.recipient > CAST(:last_recipient AS BIGINT)
    )
    {item_filters}
ORDER BY i.arrival, i.recipient
LIMIT :limit

-- name: list_all_pending_newest
-- The same backwards.
{item_columns}
FROM pending_items i
{item_joins}
WHERE i.arrival > :after AND i.arrival < :before
    AND e.arrival > :after AND e.arrival < :before
    AND (
        CAST(:last_recipient AS BIGINT) IS NULL
        OR i.arrival <> :last_arrival
        OR i.recipient < CAST(:last_recipient AS BIGINT)
    )
    {item_filters}
ORDER BY i.arrival DESC, i.recipient DESC
LIMIT :limit

-- name: list_all_past
-- The same for items that are not pending.
{item_columns}
FROM past_items i
{item_joins}
WHERE i.arrival > :after AND i.arrival < :before
    AND e.arrival > :after AND e.arrival < :before
    AND (
        CAST(:last_recipient AS BIGINT) IS NULL
        OR i.arrival <> :last_arrival
        OR i.recipient > CAST(:last_recipient AS BIGINT)
    )
    {item_filters}
ORDER BY i.arrival, i.recipient
LIMIT :limit

-- name: list_all_past_newest
-- The same backwards.
{item_columns}
FROM past_items i
{item_joins}
WHERE i.arrival > :after AND i.arrival < :before
    AND e.arrival > :after AND e.arrival < :before
    AND (
        CAST(:last_recipient AS BIGINT) IS NULL
        OR i.arrival <> :last_arrival
        OR i.recipient < CAST(:last_recipient AS BIGINT)
    )
    {item_filters}
ORDER BY i.arrival DESC, i.recipient DESC
LIMIT :limit

-- name: list_all_broadcasts
-- The broadcasts that agents have not taken yet, for each of them. The plus is that of one inbox.
SELECT * FROM pending_broadcasts
WHERE +arrival > :after AND +arrival < :before
    AND (
        CAST(:last_recipient AS BIGINT) IS NULL
        OR arrival <> :last_arrival
        OR (CAST(:newest_first AS BOOLEAN) AND recipient < CAST(:last_recipient AS BIGINT))
        OR (NOT CAST(:newest_first AS BOOLEAN) AND recipient > CAST(:last_recipient AS BIGINT))
    )
    {broadcast_filters}
ORDER BY
    CASE WHEN CAST(:newest_first AS BOOLEAN) THEN -arrival ELSE arrival END,
    CASE WHEN CAST(:newest_first AS BOOLEAN) THEN -recipient ELSE recipient END
LIMIT :limit

-- name: find_matching
-- The stored items of an inbox that a filter lets through.
SELECT i.arrival
FROM items i
JOIN events e ON e.arrival = i.arrival
LEFT JOIN entities s ON s.number = e.sender
WHERE i.recipient = :recipient
    {item_filters}
ORDER BY i.arrival
LIMIT :limit

-- name: list_groups
-- The same, counted by type and sender, or source where there is no sender; the most urgent first, then the largest.
SELECT
    e.type, i.source AS origin, count(*) AS total, min(i.priority) AS priority, max(i.arrival) AS last_arrival,
    min(e.created_at) AS first_at
FROM items i
JOIN events e ON e.arrival = i.arrival
LEFT JOIN entities s ON s.number = e.sender
WHERE i.recipient = :recipient
    {item_filters}
GROUP BY e.type, i.source
ORDER BY priority, total DESC, last_arrival DESC
LIMIT :limit
