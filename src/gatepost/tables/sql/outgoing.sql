-- name: insert
INSERT INTO outgoing
    (id, kind, sender, targets, data, ref_type, ref_id, thread, reply_to, event, arrival, ack, ack_deadline, created_at)
VALUES
    (:id, :kind, :sender, :targets, :data, :ref_type, :ref_id, :thread, :reply_to, :event,
     (SELECT arrival FROM events WHERE id = :event), :ack, :ack_deadline, :now)
RETURNING number

-- name: insert_recipients (sqlite)
INSERT INTO outgoing_recipients (outgoing, recipient)
SELECT :outgoing, n.entity FROM names n WHERE n.name IN :names[]

-- name: insert_recipients (postgres)
INSERT INTO outgoing_recipients (outgoing, recipient)
SELECT CAST(:outgoing AS bigint), n.entity FROM names n WHERE n.name IN :names[]

-- name: find
SELECT o.* FROM outgoing_details o
WHERE o.id = :id

-- name: find_by_event
SELECT o.* FROM outgoing_details o
WHERE o.arrival = (SELECT arrival FROM events WHERE id = :event)

-- name: list_page
-- The newest first; `before` is the number of the last one seen. `viewer` is the sender or a recipient.
SELECT o.* FROM outgoing_details o
WHERE o.kind = :kind
    AND (CAST(:sender AS bigint) IS NULL OR o.sender_number = CAST(:sender AS bigint))
    AND (CAST(:thread AS text) IS NULL OR o.thread = CAST(:thread AS text))
    AND (
        CAST(:ref_type AS text) IS NULL
        OR o.ref_type = CAST(:ref_type AS text) AND o.ref_id = CAST(:ref_id AS text)
    )
    AND (
        CAST(:viewer AS bigint) IS NULL
        OR o.sender_number = CAST(:viewer AS bigint)
        OR EXISTS (
            SELECT 1 FROM outgoing_recipients r
            WHERE r.outgoing = o.number AND r.recipient = CAST(:viewer AS bigint)
        )
        OR EXISTS (SELECT 1 FROM items i WHERE i.arrival = o.arrival AND i.recipient = CAST(:viewer AS bigint))
        OR EXISTS (
            SELECT 1 FROM broadcasts b JOIN inboxes x ON x.cursor < b.number
            WHERE b.arrival = o.arrival AND x.recipient = CAST(:viewer AS bigint)
        )
    )
    AND (CAST(:before AS bigint) IS NULL OR o.number < CAST(:before AS bigint))
ORDER BY o.number DESC
LIMIT :limit

-- name: list_recipients
-- The first recipients of each record, by their names.
SELECT s.outgoing, s.name, s.state, s.seen_at, s.ended_at
FROM (
    SELECT
        t.outgoing, e.name, t.seen_at, t.ended_at,
        CASE WHEN t.state = 'pending' AND t.expires_at <= :now THEN 'expired' ELSE t.state END AS state,
        row_number() OVER (PARTITION BY t.outgoing ORDER BY e.name) AS place
    FROM outgoing_states t
    JOIN entities e ON e.number = t.recipient
    WHERE t.outgoing IN :numbers[]
) s
WHERE s.place <= :limit
ORDER BY s.outgoing, s.name

-- name: count_states
SELECT s.outgoing, s.state, count(*) AS total
FROM (
    SELECT
        t.outgoing, CASE WHEN t.state = 'pending' AND t.expires_at <= :now THEN 'expired' ELSE t.state END AS state
    FROM outgoing_states t
    WHERE t.outgoing IN :numbers[]
) s
GROUP BY s.outgoing, s.state
ORDER BY s.outgoing, s.state

-- name: list_unread
-- The names of the recipients who have not read it.
SELECT e.name
FROM outgoing_states t
JOIN entities e ON e.number = t.recipient
WHERE t.outgoing = :number AND t.state <> 'delivered'
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
SELECT o.id FROM outgoing o
WHERE o.ack IN ('pending', 'overdue')
    AND EXISTS (SELECT 1 FROM items i WHERE i.arrival = o.arrival AND i.claim = :claim)
ORDER BY o.number

-- name: take_overdue
SELECT o.id FROM outgoing o
WHERE o.ack = 'pending' AND o.ack_deadline <= :now
ORDER BY o.number
LIMIT :limit
FOR UPDATE SKIP LOCKED

-- name: set_ack
UPDATE outgoing SET ack = :ack WHERE number = :number

-- name: lock
SELECT number FROM outgoing WHERE id = :id FOR UPDATE

-- name: has_worked_since
SELECT TRUE AS has_worked
FROM outgoing o
JOIN names n ON n.entity = o.sender
WHERE n.name = :agent AND o.kind IN ('note', 'event') AND o.created_at >= :since
LIMIT 1
