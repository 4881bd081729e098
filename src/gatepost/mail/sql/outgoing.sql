-- name: insert
INSERT INTO outgoing
    (id, kind, sender, targets, data, ref_type, ref_id, thread, reply_to, event, arrival, ack, ack_deadline, created_at,
     dedup_key, hops, post, deliver_at)
VALUES
    (:id, :kind, :sender, :targets, :data, :ref_type, :ref_id, :thread, :reply_to, :event,
     (SELECT arrival FROM events WHERE id = :event), :ack, :ack_deadline, :now, :dedup_key, :hops, :post, :deliver_at)
RETURNING number

-- name: insert_recipients
INSERT INTO outgoing_recipients (outgoing, recipient)
SELECT CAST(:outgoing AS bigint), n.entity FROM names n WHERE n.name IN :names[]

-- name: find
SELECT o.* FROM outgoing_details o
WHERE o.id = :id

-- name: find_by_event
SELECT o.* FROM outgoing_details o
WHERE o.event = :event

-- name: has_work
SELECT TRUE AS has_work
FROM outgoing
WHERE sender = :sender AND dedup_key = :dedup_key AND dedup_key IS NOT NULL AND kind <> 'mail'
LIMIT 1

-- name: find_time_sent
-- When a sender has sent the record before the last `skipped` ones.
SELECT created_at FROM outgoing WHERE sender = :sender ORDER BY number DESC LIMIT 1 OFFSET :skipped

-- name: list_sent
-- The newest first; `before` is the number of the last one seen.
SELECT o.*
FROM outgoing r
JOIN outgoing_details o ON o.number = r.number
WHERE r.sender = :sender AND r.kind = 'mail'
    AND (CAST(:thread AS text) IS NULL OR o.thread = CAST(:thread AS text))
    AND (CAST(:message_type AS text) IS NULL OR json_extract(o.data, '$.message_type') = CAST(:message_type AS text))
    AND (
        CAST(:ref_type AS text) IS NULL
        OR o.ref_type = CAST(:ref_type AS text) AND o.ref_id = CAST(:ref_id AS text)
    )
    AND (CAST(:before AS bigint) IS NULL OR r.number < CAST(:before AS bigint))
ORDER BY r.number DESC
LIMIT :limit

-- name: list_thread
-- The mail of a thread, or without one the mail about a reference, the newest first. With a viewer, only what it has
-- sent or received; an agent has received a broadcast that it has still to take.
SELECT o.* FROM outgoing_details o
WHERE o.kind = 'mail'
    AND (CAST(:message_type AS text) IS NULL OR json_extract(o.data, '$.message_type') = CAST(:message_type AS text))
    AND o.number IN (
        SELECT t.number FROM outgoing t WHERE t.thread = CAST(:thread AS text)
        UNION ALL
        SELECT t.number FROM outgoing t
        WHERE CAST(:thread AS text) IS NULL
            AND t.ref_type = CAST(:ref_type AS text) AND t.ref_id = CAST(:ref_id AS text)
    )
    AND (
        CAST(:ref_type AS text) IS NULL
        OR o.ref_type = CAST(:ref_type AS text) AND o.ref_id = CAST(:ref_id AS text)
    )
    AND (
        CAST(:viewer AS bigint) IS NULL
        OR EXISTS (SELECT 1 FROM outgoing t WHERE t.number = o.number AND t.sender = CAST(:viewer AS bigint))
        OR EXISTS (
            SELECT 1 FROM outgoing_recipients r
            WHERE r.outgoing = o.number AND r.recipient = CAST(:viewer AS bigint)
        )
        OR EXISTS (SELECT 1 FROM items i WHERE i.arrival = o.arrival AND i.recipient = CAST(:viewer AS bigint))
        OR EXISTS (
            SELECT 1
            FROM broadcasts b
            JOIN inboxes x ON x.cursor < b.number
            JOIN entities e ON e.number = x.recipient AND e.kind = 'agent'
            WHERE b.arrival = o.arrival AND x.recipient = CAST(:viewer AS bigint)
        )
    )
    AND (CAST(:before AS bigint) IS NULL OR o.number < CAST(:before AS bigint))
ORDER BY o.number DESC
LIMIT :limit

-- name: list_states
-- The first recipients of each record by their names, and one of each state; `total` is how many have the state. It is
-- the state of the item, or else as it was when the item was removed. Of a broadcast only those who took it are known.
SELECT p.outgoing, p.name, p.state, p.seen_at, p.ended_at, p.place, p.total
FROM (
    SELECT
        s.outgoing, s.name, s.state, s.seen_at, s.ended_at,
        row_number() OVER (PARTITION BY s.outgoing ORDER BY s.name) AS place,
        row_number() OVER (PARTITION BY s.outgoing, s.state ORDER BY s.name) AS place_in_state,
        count(*) OVER (PARTITION BY s.outgoing, s.state) AS total
    FROM (
        SELECT
            o.number AS outgoing, e.name, coalesce(w.seen_at, i.seen_at) AS seen_at,
            coalesce(i.ended_at, r.ended_at) AS ended_at,
            CASE
                WHEN w.expires_at <= :now THEN 'expired'
                WHEN o.arrival IS NULL THEN coalesce(r.state, 'pending')
                ELSE coalesce(w.state, i.state, r.state, 'discarded')
            END AS state
        FROM outgoing o
        JOIN outgoing_recipients r ON r.outgoing = o.number
        JOIN entities e ON e.number = r.recipient
        LEFT JOIN pending_items w ON w.arrival = o.arrival AND w.recipient = r.recipient
        LEFT JOIN past_items i ON i.arrival = o.arrival AND i.recipient = r.recipient
        WHERE o.number IN :numbers[]
        UNION ALL
        SELECT
            o.number AS outgoing, e.name, i.seen_at, i.ended_at,
            CASE WHEN i.state = 'pending' AND i.expires_at <= :now THEN 'expired' ELSE i.state END AS state
        FROM outgoing o
        JOIN broadcasts b ON b.arrival = o.arrival
        JOIN items i ON i.arrival = b.arrival
        JOIN entities e ON e.number = i.recipient
        WHERE o.number IN :numbers[]
            AND NOT EXISTS (
                SELECT 1 FROM outgoing_recipients r WHERE r.outgoing = o.number AND r.recipient = i.recipient
            )
    ) s
) p
WHERE p.place <= :limit OR p.place_in_state = 1
ORDER BY p.outgoing, p.place

-- name: list_unread
-- The names of the recipients who have not read it; a broadcast asks nobody to.
SELECT e.name
FROM outgoing o
JOIN outgoing_recipients r ON r.outgoing = o.number
JOIN entities e ON e.number = r.recipient
LEFT JOIN pending_items w ON w.arrival = o.arrival AND w.recipient = r.recipient
LEFT JOIN past_items i ON i.arrival = o.arrival AND i.recipient = r.recipient
WHERE o.number = :number AND coalesce(w.state, i.state, r.state, 'discarded') <> 'delivered'
ORDER BY e.name

-- name: list_posts
-- The notes or events of a work item, the oldest first.
SELECT o.* FROM outgoing_details o
WHERE o.kind = :kind AND o.ref_type = :ref_type AND o.ref_id = :ref_id AND o.number > :after
ORDER BY o.number
LIMIT :limit

-- name: list_arrivals
SELECT arrival, number FROM outgoing WHERE arrival IN :arrivals[]

-- name: keep_states (sqlite)
INSERT INTO outgoing_recipients (outgoing, recipient, state, ended_at)
VALUES (:outgoing, :recipient, :state, :ended_at)
ON CONFLICT (outgoing, recipient) DO UPDATE SET state = excluded.state, ended_at = excluded.ended_at

-- name: keep_states (postgres)
INSERT INTO outgoing_recipients (outgoing, recipient, state, ended_at)
SELECT * FROM unnest(:outgoing::bigint[], :recipient::bigint[], :state::text[], :ended_at::bigint[])
ON CONFLICT (outgoing, recipient) DO UPDATE SET state = excluded.state, ended_at = excluded.ended_at

-- name: list_awaited
-- The mails whose sender waits to hear that they were read, among the items of a claim.
SELECT o.id
FROM past i
JOIN outgoing o ON o.arrival = i.arrival AND o.ack IN ('pending', 'overdue')
WHERE i.claim = :claim
ORDER BY o.number

-- name: take_overdue
SELECT o.id FROM outgoing o
WHERE o.ack = 'pending' AND o.ack_deadline <= :now
ORDER BY o.ack_deadline, o.number
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: set_ack
UPDATE outgoing SET ack = :ack WHERE number = :number

-- name: set_posted
UPDATE outgoing SET posted_at = :now, post = 'posted' WHERE number = :number AND post = 'unposted'

-- name: set_failed
UPDATE outgoing SET post = 'failed' WHERE number = :number AND post = 'unposted'

-- name: set_delivered
UPDATE outgoing
SET event = :event, arrival = (SELECT arrival FROM events WHERE id = :event), deliver_at = NULL
WHERE number = :number

-- name: set_deliver_at
UPDATE outgoing SET deliver_at = :deliver_at WHERE number = :number

-- name: list_undelivered
SELECT id FROM outgoing
WHERE deliver_at <= :now AND deliver_at IS NOT NULL
ORDER BY deliver_at, number
LIMIT :limit

-- name: list_unposted
-- The records of a sender that are not on the ledger yet, up to one of them, the oldest first.
SELECT id FROM outgoing
WHERE sender = :sender AND post = 'unposted' AND number <= :number
ORDER BY number
LIMIT :limit

-- name: list_recipients
SELECT e.name FROM outgoing_recipients r
JOIN entities e ON e.number = r.recipient
WHERE r.outgoing = :number
ORDER BY e.name

-- name: end_recipient
UPDATE outgoing_recipients SET state = 'delivered', ended_at = :now
WHERE outgoing = :number AND recipient = :recipient

-- name: lock
SELECT number FROM outgoing WHERE id = :id FOR UPDATE

-- name: has_worked_since
SELECT TRUE AS has_worked
FROM outgoing o
JOIN names n ON n.entity = o.sender
WHERE n.name = :agent AND o.kind IN ('note', 'event') AND o.created_at >= :since
LIMIT 1
