-- name: past_columns (part)
recipient, arrival, priority, is_from_machine, source, expires_at, wakes, attempts, size, times, seen_at

-- name: pending_columns (part)
recipient, priority, is_from_machine, arrival, source, wakes, size, times, seen_at, expires_at, attempts, claim

-- name: leave
-- Items that are still pending, and not past their time, are not pending any more. A claim is given by its id.
-- `remove_pending` follows.
INSERT INTO past ({past_columns}, state, claim, ended_at)
SELECT
    {past_columns},
    CAST(:state AS TEXT), (SELECT c.number FROM claims c WHERE c.id = CAST(:claim AS TEXT)), CAST(:ended_at AS BIGINT)
FROM pending
WHERE recipient = :recipient AND arrival IN :arrivals[] AND (expires_at IS NULL OR expires_at > :now)
FOR UPDATE
RETURNING arrival

-- name: remove_pending
DELETE FROM pending
WHERE recipient = :recipient AND arrival IN :arrivals[]
    AND EXISTS (SELECT 1 FROM past t WHERE t.recipient = pending.recipient AND t.arrival = pending.arrival)

-- name: expire
-- `remove_pending` follows.
INSERT INTO past ({past_columns}, state, claim, ended_at)
SELECT {past_columns}, 'expired', claim, CAST(:now AS BIGINT)
FROM pending
WHERE expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at
LIMIT :limit
FOR UPDATE SKIP LOCKED
RETURNING recipient, arrival

-- name: release
-- The items of a claim that has ended are pending again. `remove_released` follows.
INSERT INTO pending ({pending_columns})
SELECT
    recipient, priority, is_from_machine, arrival, source, wakes, size, times, seen_at, expires_at, attempts,
    CAST(NULL AS BIGINT)
FROM past
WHERE claim = :claim AND state = 'taken'

-- name: remove_released
DELETE FROM past WHERE claim = :claim AND state = 'taken'

-- name: replay
-- An item that has ended is pending again, without an end. `remove_past` follows.
INSERT INTO pending ({pending_columns})
SELECT
    recipient, priority, is_from_machine, arrival, source, wakes, size, times, seen_at, CAST(NULL AS BIGINT), 0,
    CAST(NULL AS BIGINT)
FROM past
WHERE recipient = :recipient AND arrival = :arrival AND state = :state
FOR UPDATE
RETURNING arrival

-- name: replay_pending
-- The same for an item past its time that is pending still.
UPDATE pending SET attempts = 0, expires_at = NULL, hidden_until = NULL, awaits = NULL, claim = NULL
WHERE recipient = :recipient AND arrival = :arrival
RETURNING arrival

-- name: undo_complete
-- The receipt stays. One with the fence 0 is not the person's own doing (`close_items`). `remove_past` follows.
INSERT INTO pending ({pending_columns})
SELECT {pending_columns}
FROM past
WHERE recipient = :recipient AND state = 'taken'
    AND claim IN (
        SELECT c.number
        FROM claims c
        WHERE c.recipient = :recipient AND c.kind = 'person' AND c.fence > 0 AND c.ended_at > :since
            AND (CAST(:receipt AS TEXT) IS NULL OR c.id = CAST(:receipt AS TEXT))
    )
    AND (CAST(:receipt AS TEXT) IS NOT NULL OR arrival IN :arrivals[])
FOR UPDATE
RETURNING arrival

-- name: remove_past
DELETE FROM past
WHERE recipient = :recipient AND arrival IN :arrivals[]
    AND EXISTS (SELECT 1 FROM pending i WHERE i.recipient = past.recipient AND i.arrival = past.arrival)

-- name: fail
-- Counts a failure of items of a claim that has ended. One with too many failures dies, the others are released then.
UPDATE past SET
    attempts = attempts + 1,
    claim = CASE WHEN attempts + 1 >= :attempts THEN NULL ELSE claim END,
    state = CASE WHEN attempts + 1 >= :attempts THEN 'dead' ELSE state END,
    ended_at = CASE WHEN attempts + 1 >= :attempts THEN CAST(:now AS BIGINT) END
WHERE claim = :claim AND state = 'taken'
    AND arrival IN (SELECT arrival FROM events WHERE id IN :events[])
RETURNING state

-- name: discard_dead
UPDATE past SET state = 'discarded', ended_at = :now
WHERE recipient = :recipient AND arrival IN :arrivals[] AND state = 'dead'

-- name: count_repeat
-- The line says how often it came, so it gets longer, once.
UPDATE pending SET times = times + 1, size = size + CASE times WHEN 1 THEN :growth ELSE 0 END
WHERE (recipient, arrival) IN (
    SELECT recipient, arrival FROM dedup_keys WHERE recipient IN :recipients[] AND dedup_key = :dedup_key
)
RETURNING recipient, times

-- name: mark_pending_seen
UPDATE pending SET seen_at = :now
WHERE recipient = :recipient AND seen_at IS NULL
    AND arrival IN (SELECT arrival FROM events WHERE id IN :events[])

-- name: mark_past_seen
UPDATE past SET seen_at = :now
WHERE recipient = :recipient AND seen_at IS NULL
    AND arrival IN (SELECT arrival FROM events WHERE id IN :events[])

-- name: grow_sizes
UPDATE pending SET size = size + :growth
WHERE source = :name
    AND EXISTS (SELECT 1 FROM events e WHERE e.arrival = pending.arrival AND e.sender = :sender)

-- name: grow_claimed_sizes
UPDATE past SET size = size + :growth
WHERE state = 'taken' AND source = :name AND claim IN (SELECT number FROM claims WHERE ended_at IS NULL)
    AND EXISTS (SELECT 1 FROM events e WHERE e.arrival = past.arrival AND e.sender = :sender)

-- name: hide
UPDATE pending SET hidden_until = :until, awaits = CAST(:awaits AS TEXT)
WHERE recipient = :recipient AND arrival IN :arrivals[]
    AND (expires_at IS NULL OR expires_at > :now)
RETURNING arrival

-- name: unhide
UPDATE pending SET hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND arrival IN :arrivals[] AND hidden_until IS NOT NULL
RETURNING arrival

-- name: list_awaited
-- What the hidden items of these recipients wait for.
SELECT DISTINCT recipient, awaits
FROM pending
WHERE recipient IN :recipients[] AND awaits IS NOT NULL

-- name: unhide_awaiting
UPDATE pending SET hidden_until = NULL, awaits = NULL
WHERE recipient = :recipient AND awaits = :awaits
RETURNING arrival

-- name: due_items (part)
SELECT recipient, arrival
FROM pending
WHERE hidden_until IS NOT NULL AND hidden_until <= :now
ORDER BY hidden_until
LIMIT :limit

-- name: unhide_due (sqlite)
UPDATE pending SET hidden_until = NULL, awaits = NULL
WHERE (recipient, arrival) IN ({due_items})
RETURNING arrival, (SELECT e.name FROM entities e WHERE e.number = pending.recipient) AS name

-- name: unhide_due (postgres)
WITH due AS MATERIALIZED ({due_items} FOR UPDATE SKIP LOCKED)
UPDATE pending SET hidden_until = NULL, awaits = NULL
FROM due WHERE pending.recipient = due.recipient AND pending.arrival = due.arrival
RETURNING pending.arrival, (SELECT e.name FROM entities e WHERE e.number = pending.recipient) AS name

-- name: old_items (part)
SELECT recipient, arrival
FROM past
WHERE ended_at IS NOT NULL AND ended_at <= :before AND state <> 'dead'
ORDER BY ended_at
LIMIT :limit

-- name: old_delivered (part)
SELECT i.recipient, i.arrival, c.ended_at
FROM claims c
JOIN past i ON i.claim = c.number AND i.state = 'taken'
WHERE c.ended_at IS NOT NULL AND c.ended_at <= :before AND c.outcome = 'acked'
ORDER BY c.ended_at
LIMIT :limit

-- name: reap (sqlite)
DELETE FROM past WHERE (recipient, arrival) IN ({old_items})
RETURNING recipient, arrival, state, ended_at

-- name: reap (postgres)
WITH old AS MATERIALIZED ({old_items} FOR UPDATE SKIP LOCKED)
DELETE FROM past USING old WHERE past.recipient = old.recipient AND past.arrival = old.arrival
RETURNING past.recipient, past.arrival, past.state, past.ended_at

-- name: reap_delivered (sqlite)
DELETE FROM past
WHERE (recipient, arrival) IN (SELECT recipient, arrival FROM ({old_delivered}) AS old)
RETURNING
    recipient, arrival, 'delivered' AS state, (SELECT c.ended_at FROM claims c WHERE c.number = past.claim) AS ended_at

-- name: reap_delivered (postgres)
WITH old AS MATERIALIZED ({old_delivered} FOR UPDATE OF i SKIP LOCKED)
DELETE FROM past USING old WHERE past.recipient = old.recipient AND past.arrival = old.arrival
RETURNING past.recipient, past.arrival, 'delivered' AS state, old.ended_at
