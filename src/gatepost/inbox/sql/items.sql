-- name: insert (sqlite)
INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, state, attempts, size)
VALUES
    (:recipient, :arrival, :dedup_key, :priority, :sender_is_person, :source, :expires_at, :wakes, 'pending', 0, :size)
ON CONFLICT DO NOTHING

-- name: insert (postgres)
INSERT INTO items
    (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, state, attempts, size)
SELECT recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, 'pending', 0, size
FROM unnest(
    :recipient::bigint[], :arrival::bigint[], :dedup_key::text[], :priority::smallint[], :sender_is_person::boolean[],
    :source::text[], :expires_at::bigint[], :wakes::boolean[], :size::integer[]
) AS item (recipient, arrival, dedup_key, priority, sender_is_person, source, expires_at, wakes, size)
ON CONFLICT DO NOTHING

-- name: find_present
SELECT arrival, recipient FROM items WHERE arrival IN :arrivals[]

-- name: find_by_key
SELECT i.recipient, e.id AS event
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient IN :recipients[] AND i.dedup_key = :dedup_key

-- name: free_keys
-- An alert is a repeat only while an equal one is pending: others give their key up.
UPDATE items SET dedup_key = dedup_key || ':' || arrival
WHERE recipient IN :recipients[] AND dedup_key = :dedup_key AND (state <> 'pending' OR expires_at <= :now)

-- name: count_repeat
-- The line says how often it came, so it gets longer, once.
UPDATE items SET times = times + 1, size = size + CASE times WHEN 1 THEN :growth ELSE 0 END
WHERE recipient IN :recipients[] AND dedup_key = :dedup_key AND state = 'pending'
RETURNING recipient, times

-- name: list_candidates
-- The first in the order in which items get into a batch.
SELECT arrival, priority, sender_is_person, source, size
FROM items
WHERE recipient = :recipient
    AND state = 'pending'
    AND (expires_at IS NULL OR expires_at > :now)
    AND (hidden_until IS NULL OR hidden_until <= :now)
ORDER BY priority, sender_is_person DESC, arrival
LIMIT :limit

-- name: list_candidates_at
SELECT arrival, priority, sender_is_person, source, size
FROM items
WHERE recipient = :recipient AND arrival IN :arrivals[] AND state = 'pending'
    AND (hidden_until IS NULL OR hidden_until <= :now)

-- name: read_states (sqlite)
-- Items of a recipient by their keys, or by the ids of their events. Both parts begin with the keys or ids: a recipient
-- may have many items.
SELECT i.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM json_each(:keys) k
CROSS JOIN items i ON i.recipient = :recipient AND i.dedup_key = k.value AND i.dedup_key IS NOT NULL
JOIN events e ON e.arrival = i.arrival
UNION
SELECT i.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM json_each(:events) k
CROSS JOIN events e ON e.id = k.value
CROSS JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival

-- name: read_states (postgres)
-- Items of a recipient by their keys, or by the ids of their events.
SELECT i.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM items i
JOIN events e ON e.arrival = i.arrival
WHERE i.recipient = :recipient AND i.dedup_key IN :keys[]
UNION
SELECT i.dedup_key, e.id AS event, i.arrival, i.state, i.expires_at, i.hidden_until
FROM events e
JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival
WHERE e.id IN :events[]

-- name: list_source_heads
-- The first few items of each source that is not among those seen: sources are stepped through by the index.
WITH RECURSIVE step (source, steps) AS (
    SELECT (SELECT min(source) FROM items WHERE recipient = :recipient AND state = 'pending'), 1
    UNION ALL
    SELECT
        (
            SELECT min(i.source)
            FROM items i
            WHERE i.recipient = :recipient AND i.state = 'pending' AND i.source > step.source
        ),
        steps + 1
    FROM step
    WHERE step.source IS NOT NULL AND steps < :max_steps
),
other (source) AS (
    SELECT source
    FROM step
    WHERE source IS NOT NULL AND source NOT IN :seen_sources[]
    ORDER BY source
    LIMIT :max_sources
)
SELECT i.arrival, i.priority, i.sender_is_person, i.source, i.size
FROM other
JOIN items i ON i.recipient = :recipient AND i.arrival IN (
    SELECT j.arrival
    FROM items j
    WHERE j.recipient = :recipient AND j.state = 'pending' AND j.source = other.source
        AND (j.expires_at IS NULL OR j.expires_at > :now)
        AND (j.hidden_until IS NULL OR j.hidden_until <= :now)
    ORDER BY j.priority, j.arrival
    LIMIT :per_source
)
ORDER BY i.priority, i.sender_is_person DESC, i.arrival
LIMIT :limit

-- name: count_pending
-- Counted up to a limit, so that the cost is bounded. Every priority is over -1; the condition makes SQLite use the
-- index of pending items, however many were delivered.
SELECT count(*) AS total
FROM (
    SELECT 1 AS waiting
    FROM items
    WHERE recipient = :recipient AND state = 'pending' AND priority > -1 AND (expires_at IS NULL OR expires_at > :now)
        AND (hidden_until IS NULL OR hidden_until <= :now)
    LIMIT :limit
) AS counted

-- name: count_fyi
-- Pending items that wake nobody, and such broadcasts that were not taken yet; counted up to a limit.
SELECT count(*) AS total
FROM (
    SELECT arrival
    FROM items
    WHERE recipient = :recipient AND state = 'pending' AND priority = 4 AND (expires_at IS NULL OR expires_at > :now)
        AND (hidden_until IS NULL OR hidden_until <= :now)
    UNION ALL
    SELECT arrival
    FROM pending_broadcasts
    WHERE recipient = :recipient AND priority = 4 AND (expires_at IS NULL OR expires_at > :now)
    LIMIT :limit
) AS counted

-- name: has_pending_key
-- Whether an item of this source waits whose key matches a pattern.
SELECT TRUE AS has_key
FROM items
WHERE recipient = :recipient AND state = 'pending' AND source = :source AND dedup_key LIKE :pattern
    AND (expires_at IS NULL OR expires_at > :now)
LIMIT 1

-- name: find_oldest_pending
-- The time of the oldest pending item of an agent or a service.
SELECT created_at
FROM events
WHERE arrival = (
    SELECT min(i.arrival)
    FROM items i
    JOIN entities r ON r.number = i.recipient
    WHERE i.state = 'pending' AND (i.expires_at IS NULL OR i.expires_at > :now)
        AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
        AND r.kind <> 'human' AND r.retired_at IS NULL
)

-- name: find_longest_chains (sqlite)
-- The longest chain before the next event of each of these entities: of its open run, and of the items in its inbox.
-- The items are stepped through, newest first, back to the last one from a person, to `since`, or for `limit` items. An
-- item that the entity sent to itself and has not read yet is not before its next event, but beside it.
WITH RECURSIVE step (recipient, arrival, hops, is_last, steps) AS (
    SELECT value, 9223372036854775807, NULL, 0, 0 FROM json_each(:entities)
    UNION ALL
    SELECT
        i.recipient,
        i.arrival,
        CASE WHEN e.sender = i.recipient AND i.state = 'pending' THEN e.hops - 1 ELSE e.hops END,
        i.sender_is_person AND e.hops = 0,
        step.steps + 1
    FROM step
    JOIN items i ON i.recipient = step.recipient AND i.arrival = (
        SELECT max(j.arrival) FROM items j WHERE j.recipient = step.recipient AND j.arrival < step.arrival
    )
    JOIN events e ON e.arrival = i.arrival
    WHERE NOT step.is_last AND step.steps < :limit AND e.created_at > :since AND e.created_at < :until
)
SELECT recipient, max(hops) AS hops
FROM (
    SELECT recipient, hops FROM step WHERE hops IS NOT NULL
    UNION ALL
    SELECT agent, hops FROM runs WHERE agent IN :entities[] AND status = 'running'
) AS links
GROUP BY recipient

-- name: find_longest_chains (postgres)
-- The longest chain before the next event of each of these entities: of its open run, and of the items in its inbox.
-- The items are stepped through, newest first, back to the last one from a person, to `since`, or for `limit` items. An
-- item that the entity sent to itself and has not read yet is not before its next event, but beside it.
WITH RECURSIVE step (recipient, arrival, hops, is_last, steps) AS (
    SELECT number, 9223372036854775807, NULL::integer, false, 0 FROM unnest(:entities::bigint[]) AS sender (number)
    UNION ALL
    SELECT
        i.recipient,
        i.arrival,
        CASE WHEN e.sender = i.recipient AND i.state = 'pending' THEN e.hops - 1 ELSE e.hops END,
        i.sender_is_person AND e.hops = 0,
        step.steps + 1
    FROM step
    CROSS JOIN LATERAL (
        SELECT j.recipient, j.arrival, j.sender_is_person, j.state
        FROM items j
        WHERE j.recipient = step.recipient AND j.arrival < step.arrival
        ORDER BY j.arrival DESC
        LIMIT 1
    ) AS i
    JOIN events e ON e.arrival = i.arrival
    WHERE NOT step.is_last AND step.steps < :limit AND e.created_at > :since AND e.created_at < :until
)
SELECT recipient, max(hops) AS hops
FROM (
    SELECT recipient, hops FROM step WHERE hops IS NOT NULL
    UNION ALL
    SELECT agent, hops FROM runs WHERE agent IN :entities[] AND status = 'running'
) AS links
GROUP BY recipient

-- name: take
-- Puts items that are still pending under a claim, given by its id.
UPDATE items SET state = 'claimed', claim = (SELECT number FROM claims WHERE id = :claim)
WHERE recipient = :recipient AND arrival IN :arrivals[] AND state = 'pending'
RETURNING arrival

-- name: read
SELECT * FROM inbox_items WHERE recipient = :recipient AND arrival IN :arrivals[] ORDER BY priority, arrival

-- name: peek
-- After the item of a priority and an arrival. Every priority is over -1; the condition makes SQLite use the index of
-- pending items, however many were delivered.
SELECT * FROM inbox_items
WHERE recipient = :recipient AND state = 'pending'
    AND priority >= :priority AND (priority > :priority OR arrival > :arrival)
    AND (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
    AND (hidden_until IS NULL OR hidden_until <= :now)
UNION ALL
SELECT * FROM pending_broadcasts
WHERE recipient = :recipient AND priority >= :priority AND (priority > :priority OR arrival > :arrival)
    AND (expires_at IS NULL OR expires_at > :now) AND (CAST(:type AS TEXT) IS NULL OR type = CAST(:type AS TEXT))
ORDER BY priority, arrival
LIMIT :limit

-- name: list_since (sqlite)
-- The items of an inbox after one position, up to another; a broadcast that was not taken yet is shown as the item that
-- it will be. There is one writer, so the arrival is the position; transactions have no number.
SELECT :after_transaction + :to_transaction AS xid, inbox_items.*
FROM inbox_items
WHERE recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
UNION ALL
SELECT :after_transaction + :to_transaction AS xid, pending_broadcasts.*
FROM pending_broadcasts
WHERE recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY arrival
LIMIT :limit

-- name: list_since (postgres)
-- The items of an inbox after one position, up to another; a broadcast that was not taken yet is shown as the item that
-- it will be. Events are walked in their order, and each is looked up in the inbox: the cost grows with the new events
-- only (OFFSET keeps the planner from reading the whole inbox first). Only events with an item are then read in full.
WITH page AS MATERIALIZED (
    SELECT e.xid, e.arrival
    FROM events e
    WHERE (e.xid, e.arrival) > (:after_transaction::text::xid8, :after_arrival)
        AND (e.xid, e.arrival) <= (:to_transaction::text::xid8, :to_arrival)
        AND (
            EXISTS (SELECT 1 FROM items i WHERE i.recipient = :recipient AND i.arrival = e.arrival OFFSET 0)
            OR EXISTS (
                SELECT 1 FROM pending_broadcasts o
                WHERE o.recipient = :recipient AND o.arrival = e.arrival
                    AND (o.expires_at IS NULL OR o.expires_at > :now)
                OFFSET 0
            )
        )
    ORDER BY e.xid, e.arrival
    LIMIT :limit
)
SELECT page.xid::text::bigint AS xid, item.*
FROM page
CROSS JOIN LATERAL (
    SELECT * FROM inbox_items WHERE recipient = :recipient AND arrival = page.arrival
    UNION ALL
    SELECT * FROM pending_broadcasts WHERE recipient = :recipient AND arrival = page.arrival
) AS item
ORDER BY page.xid, page.arrival

-- name: list_by_event
-- Content and data are in the first row only: they may be large, and the items many.
SELECT
    recipient, arrival, recipient_name, id, type, source, sender_name, sender_display, sender_kind, subject,
    CASE WHEN row_number() OVER (ORDER BY recipient) = 1 THEN content END AS content,
    CASE WHEN row_number() OVER (ORDER BY recipient) = 1 THEN data END AS data,
    priority, dedup_key, created_at, expires_at, ref_type, ref_id, route_channel, route_session, hops, trust, wakes,
    state, attempts, seen_at, ended_at, claim_kind, claim_owner, claim_at, occurred_at, times, hidden_until, awaits
FROM inbox_items
WHERE id = :event AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
ORDER BY recipient

-- name: list_by_broadcast
SELECT * FROM pending_broadcasts WHERE id = :event ORDER BY recipient LIMIT :limit

-- name: grow_sizes
UPDATE items SET size = size + :growth
WHERE state = 'pending' AND source = :name
    AND EXISTS (SELECT 1 FROM events e WHERE e.arrival = items.arrival AND e.sender = :sender)

-- name: grow_claimed_sizes
UPDATE items SET size = size + :growth
WHERE state = 'claimed' AND source = :name AND claim IN (SELECT number FROM claims WHERE ended_at IS NULL)
    AND EXISTS (SELECT 1 FROM events e WHERE e.arrival = items.arrival AND e.sender = :sender)

-- name: change_state
-- Only if the item is still in the state in which it was read.
UPDATE items SET
    state = :to_state, claim = CAST(:claim AS BIGINT), ended_at = CAST(:ended_at AS BIGINT),
    attempts = CASE WHEN :to_state = 'pending' THEN 0 ELSE attempts END,
    expires_at = CASE WHEN :to_state = 'pending' THEN NULL ELSE expires_at END,
    hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND arrival = :arrival AND state = :from_state

-- name: mark_seen
UPDATE items SET seen_at = :now
WHERE recipient = :recipient AND seen_at IS NULL
    AND arrival IN (SELECT arrival FROM events WHERE id IN :events[])

-- name: deliver
-- The items of a claim that was acked, by its owner and with its fence: the statement need not wait to hear that it was.
UPDATE items SET state = 'delivered', ended_at = :now
WHERE claim = (SELECT number FROM claims WHERE id = :claim AND owner = :owner AND fence = :fence AND outcome = 'acked')
    AND state = 'claimed'

-- name: release
UPDATE items SET state = 'pending', claim = NULL WHERE claim = :claim AND state = 'claimed'

-- name: fail
-- An item with too many failures dies (`_fail_or_kill_items` in claim_actions.py).
UPDATE items SET
    attempts = attempts + 1,
    claim = NULL,
    state = CASE WHEN attempts + 1 >= :attempts THEN 'dead' ELSE 'pending' END,
    ended_at = CASE WHEN attempts + 1 >= :attempts THEN CAST(:now AS BIGINT) END
WHERE claim = :claim AND state = 'claimed'
    AND arrival IN (SELECT arrival FROM events WHERE id IN :events[])

-- name: late_items (part)
SELECT recipient, arrival
FROM items
WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at
LIMIT :limit

-- name: expire (sqlite)
UPDATE items SET state = 'expired', ended_at = :now
WHERE state = 'pending' AND (recipient, arrival) IN ({late_items})

-- name: expire (postgres)
WITH late AS MATERIALIZED ({late_items} FOR UPDATE SKIP LOCKED)
UPDATE items SET state = 'expired', ended_at = :now
FROM late WHERE items.recipient = late.recipient AND items.arrival = late.arrival AND items.state = 'pending'

-- name: old_items (part)
SELECT recipient, arrival
FROM items
WHERE state IN ('delivered', 'expired', 'discarded') AND ended_at <= :before
ORDER BY ended_at
LIMIT :limit

-- name: reap (sqlite)
DELETE FROM items WHERE (recipient, arrival) IN ({old_items})
RETURNING recipient, arrival, state, ended_at

-- name: reap (postgres)
WITH old AS MATERIALIZED ({old_items} FOR UPDATE SKIP LOCKED)
DELETE FROM items USING old WHERE items.recipient = old.recipient AND items.arrival = old.arrival
RETURNING items.recipient, items.arrival, items.state, items.ended_at

-- name: list_last_prompts
-- The prompts of a session among the last items of a recipient, the newest first.
SELECT e.id, e.route_channel AS channel, e.source
FROM (SELECT arrival FROM items WHERE recipient = :recipient ORDER BY arrival DESC LIMIT :limit) i
JOIN events e ON e.arrival = i.arrival
WHERE e.type = 'channel' AND e.route_session = :session
ORDER BY i.arrival DESC

-- name: complete
-- A person is done with items; the claim is the receipt of all of them.
UPDATE items SET state = 'delivered', claim = :claim, ended_at = :now, hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND arrival IN :arrivals[] AND state = 'pending'
    AND (expires_at IS NULL OR expires_at > :now)
RETURNING arrival

-- name: undo_complete
-- The receipt stays. One with the fence 0 is not the person's own doing (`close_items`).
UPDATE items SET state = 'pending', ended_at = NULL
WHERE recipient = :recipient AND state = 'delivered' AND ended_at > :since
    AND claim IN (
        SELECT number
        FROM claims
        WHERE recipient = :recipient AND kind = 'person' AND fence > 0
            AND (CAST(:receipt AS TEXT) IS NULL OR id = CAST(:receipt AS TEXT))
    )
    AND (CAST(:receipt AS TEXT) IS NOT NULL OR arrival IN :arrivals[])
RETURNING arrival

-- name: discard
UPDATE items SET state = 'discarded', claim = NULL, ended_at = :now, hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND arrival IN :arrivals[]
    AND (state = 'dead' OR (state = 'pending' AND (expires_at IS NULL OR expires_at > :now)))
RETURNING arrival

-- name: hide
UPDATE items SET hidden_until = :until, awaits = CAST(:awaits AS TEXT)
WHERE recipient = :recipient AND arrival IN :arrivals[] AND state = 'pending'
    AND (expires_at IS NULL OR expires_at > :now)
RETURNING arrival

-- name: unhide
UPDATE items SET hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND arrival IN :arrivals[] AND state = 'pending' AND hidden_until IS NOT NULL
RETURNING arrival

-- name: list_awaited
-- What the hidden items of these recipients wait for.
SELECT DISTINCT recipient, awaits
FROM items
WHERE recipient IN :recipients[] AND state = 'pending' AND awaits IS NOT NULL

-- name: unhide_awaiting
UPDATE items SET hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND state = 'pending' AND awaits = :awaits
RETURNING arrival

-- name: due_items (part)
SELECT recipient, arrival
FROM items
WHERE state = 'pending' AND hidden_until IS NOT NULL AND hidden_until <= :now
ORDER BY hidden_until
LIMIT :limit

-- name: unhide_due (sqlite)
UPDATE items SET hidden_until = NULL, awaits = NULL
WHERE state = 'pending' AND (recipient, arrival) IN ({due_items})
RETURNING arrival, (SELECT e.name FROM entities e WHERE e.number = items.recipient) AS name

-- name: unhide_due (postgres)
WITH due AS MATERIALIZED ({due_items} FOR UPDATE SKIP LOCKED)
UPDATE items SET hidden_until = NULL, awaits = NULL
FROM due WHERE items.recipient = due.recipient AND items.arrival = due.arrival AND items.state = 'pending'
RETURNING items.arrival, (SELECT e.name FROM entities e WHERE e.number = items.recipient) AS name
