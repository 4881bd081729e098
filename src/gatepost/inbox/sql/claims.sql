-- name: insert
INSERT INTO claims (id, recipient, kind, owner, fence, taken_at, deadline)
VALUES (:id, :recipient, :kind, :owner, :fence, :now, :deadline)
RETURNING number

-- name: lock
-- Changes nothing; whoever wants to end the claim waits until the end of the transaction.
UPDATE claims SET owner = owner
WHERE id = :id AND owner = :owner AND fence = :fence AND ended_at IS NULL

-- name: extend
-- A session keeps what a hook has printed until a model has answered; the claim of a run is never a session's.
UPDATE claims SET kind = 'session', deadline = :deadline
WHERE id = :id AND owner = :owner AND fence = :fence AND ended_at IS NULL AND kind IN ('drain', 'session')

-- name: end
-- Only its owner, with its fence, ends an open claim; if it is acked, its items are delivered. That no sender waits to hear of its items is nearly always so, and
-- saves the reader a statement.
UPDATE claims SET ended_at = :now, outcome = :outcome
WHERE id = :id AND owner = :owner AND fence = :fence AND ended_at IS NULL
RETURNING
    number,
    (SELECT e.name FROM entities e WHERE e.number = claims.recipient) AS recipient,
    (SELECT count(*) FROM past i WHERE i.claim = claims.number) AS item_count,
    EXISTS (
        SELECT 1 FROM past i JOIN outgoing o ON o.arrival = i.arrival AND o.ack IN ('pending', 'overdue')
        WHERE i.claim = claims.number
    ) AS has_awaited_mail

-- name: read
SELECT c.number, c.id, e.name AS recipient, c.kind, c.owner, c.fence, c.taken_at, c.deadline, c.ended_at, c.outcome
FROM claims c
JOIN entities e ON e.number = c.recipient
WHERE c.id = :id

-- name: read_inbox_state
-- What a claim needs to know first: the run that has claimed the inbox, whether a drain is past its deadline, and the
-- last broadcast.
SELECT
    (SELECT c.owner FROM claims c WHERE c.recipient = n.entity AND c.ended_at IS NULL AND c.kind = 'run' LIMIT 1) AS run,
    EXISTS (
        SELECT 1
        FROM claims c
        WHERE c.recipient = n.entity AND c.ended_at IS NULL
            AND (c.deadline <= :now OR (c.deadline IS NOT NULL AND c.taken_at > :future))
    ) AS is_late,
    (SELECT coalesce(max(number), 0) FROM broadcasts) AS last_broadcast
FROM names n
WHERE n.name = :name

-- name: lapse (sqlite)
-- Claims past their deadline, or taken before the clock was set back; the claim of a run has no deadline.
UPDATE claims SET ended_at = :now, outcome = 'lapsed'
WHERE ended_at IS NULL AND number IN (
    SELECT number
    FROM claims INDEXED BY claims_open
    WHERE ended_at IS NULL AND (deadline <= :now OR (deadline IS NOT NULL AND taken_at > :future))
        AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    ORDER BY number
    LIMIT :limit
)
RETURNING number, (SELECT name FROM entities WHERE entities.number = claims.recipient) AS recipient

-- name: lapse (postgres)
-- Claims past their deadline, or taken before the clock was set back; the claim of a run has no deadline.
WITH late AS MATERIALIZED (
    SELECT number
    FROM claims
    WHERE ended_at IS NULL AND (deadline <= :now OR (deadline IS NOT NULL AND taken_at > :future))
        AND (CAST(:recipient AS BIGINT) IS NULL OR recipient = CAST(:recipient AS BIGINT))
    ORDER BY number
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
UPDATE claims SET ended_at = :now, outcome = 'lapsed'
FROM late WHERE claims.number = late.number AND claims.ended_at IS NULL
RETURNING claims.number, (SELECT name FROM entities WHERE entities.number = claims.recipient) AS recipient

-- name: old_claims (part)
SELECT c.number
FROM claims c
WHERE c.ended_at IS NOT NULL AND c.ended_at <= :before
    AND NOT EXISTS (SELECT 1 FROM past i WHERE i.claim = c.number)
    AND NOT EXISTS (SELECT 1 FROM pending i WHERE i.claim = c.number)
ORDER BY c.ended_at
LIMIT :limit

-- name: reap (sqlite)
DELETE FROM claims WHERE number IN ({old_claims})

-- name: reap (postgres)
WITH old AS MATERIALIZED ({old_claims} FOR UPDATE SKIP LOCKED)
DELETE FROM claims USING old WHERE claims.number = old.number
