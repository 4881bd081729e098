-- name: lock_number
-- Locks the row by which broadcasts and registrations take turns.
UPDATE counters SET value = value + :increment WHERE name = 'broadcast' RETURNING value

-- name: insert
INSERT INTO broadcasts
    (number, arrival, dedup_key, priority, sender, sender_is_person, source, expires_at, wakes, size)
VALUES
    (:number, :arrival, :dedup_key, :priority, :sender, :sender_is_person, :source, :expires_at, :wakes, :size)

-- name: find_by_key
SELECT b.number, e.id AS event
FROM broadcasts b
JOIN events e ON e.arrival = b.arrival
WHERE b.dedup_key = :dedup_key

-- name: count_since
SELECT count(*) AS total
FROM broadcasts b
JOIN events e ON e.arrival = b.arrival
WHERE b.sender = :sender AND e.created_at > :since

-- name: read_last_number
SELECT coalesce(max(number), 0) AS number FROM broadcasts

-- name: new_broadcasts (part)
FROM broadcasts b
WHERE b.number > :cursor
    AND b.number <= :last
    AND (b.sender IS NULL OR b.sender <> :recipient)
    AND (b.expires_at IS NULL OR b.expires_at > :now)

-- name: take_keys
INSERT INTO dedup_keys (recipient, dedup_key, arrival)
SELECT CAST(:recipient AS BIGINT), b.dedup_key, b.arrival
{new_broadcasts}
ON CONFLICT DO NOTHING

-- name: take
-- Those whose key the inbox did not know: `take_keys` comes first.
INSERT INTO pending
    (recipient, priority, is_from_machine, arrival, source, expires_at, wakes, attempts, size, times)
SELECT
    CAST(:recipient AS BIGINT), b.priority, NOT b.sender_is_person, b.arrival, b.source, b.expires_at, b.wakes, 0,
    b.size, 1
{new_broadcasts}
    AND EXISTS (
        SELECT 1
        FROM dedup_keys k
        WHERE k.recipient = :recipient AND k.dedup_key = b.dedup_key AND k.arrival = b.arrival
    )
ORDER BY b.number

-- name: reap
-- Those that every live agent has taken or missed, and the expired ones. A number is never used again.
DELETE FROM broadcasts
WHERE number IN (
    SELECT b.number
    FROM broadcasts b
    WHERE (b.expires_at IS NOT NULL AND b.expires_at <= :before)
        OR (
            b.number <= (
                SELECT coalesce(min(i.cursor), b.number)
                FROM inboxes i
                JOIN entities e ON e.number = i.recipient
                WHERE e.kind = 'agent' AND e.retired_at IS NULL
            )
            AND (SELECT e.created_at FROM events e WHERE e.arrival = b.arrival) <= :before
        )
    ORDER BY b.number
    LIMIT :limit
)
RETURNING arrival

-- name: grow_sizes
UPDATE broadcasts SET size = size + :growth WHERE sender = :sender
