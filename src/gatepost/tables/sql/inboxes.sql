-- name: advance
UPDATE inboxes SET cursor = :cursor WHERE recipient = :recipient

-- name: behind
-- Agents that have not taken the last broadcast that wakes.
SELECT e.number, e.name
FROM inboxes x
JOIN entities e ON e.number = x.recipient
WHERE x.cursor < (SELECT coalesce(max(b.number), 0) FROM broadcasts b WHERE b.wakes AND (b.expires_at IS NULL OR b.expires_at > :now))
    AND e.kind = 'agent'
    AND e.retired_at IS NULL
    AND e.number > :after
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
ORDER BY e.number
LIMIT :limit

-- name: insert
INSERT INTO inboxes (recipient, fence, cursor) VALUES (:recipient, 0, :cursor)

-- name: lock
-- Whoever claims from an inbox takes the next fence, and with it the inbox, until the end of the transaction.
UPDATE inboxes SET fence = fence + 1 WHERE recipient = :recipient RETURNING fence, cursor

-- name: awaiting
-- Whose inbox holds something that should wake them and that nobody is at work on, from a number on: recipients are
-- stepped through by the index, so that the cost goes with those who have something, not with those who sleep. Every
-- priority is over -1; saying so makes SQLite go by that index also then, however much was delivered.
WITH RECURSIVE step (recipient, steps) AS (
    SELECT (SELECT min(recipient) FROM items WHERE state = 'pending' AND recipient > :after), 1
    UNION ALL
    SELECT
        (SELECT min(i.recipient) FROM items i WHERE i.state = 'pending' AND i.recipient > step.recipient),
        steps + 1
    FROM step
    WHERE step.recipient IS NOT NULL AND steps < :limit
)
SELECT
    e.number,
    e.name,
    e.kind <> 'human'
        AND e.retired_at IS NULL
        AND EXISTS (
            SELECT 1
            FROM items i
            WHERE i.recipient = e.number AND i.state = 'pending' AND i.priority > -1
                AND (i.expires_at IS NULL OR i.expires_at > :now)
                AND (i.wakes OR (i.priority = 4 AND EXISTS (
                    SELECT 1 FROM events v WHERE v.arrival = i.arrival AND v.created_at <= :fyi_before
                )))
        )
        AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now) AS is_waking
FROM step
JOIN entities e ON e.number = step.recipient
ORDER BY e.number

-- name: has_items
-- Whether an agent has anything to read: an item that is pending, one of a claim that lapsed, or a broadcast that it has
-- not taken. Every priority is over -1; saying so makes SQLite go by the index of what is pending.
SELECT TRUE AS has_items
FROM names n
JOIN entities e ON e.number = n.entity AND e.kind = 'agent' AND e.retired_at IS NULL
JOIN inboxes x ON x.recipient = e.number
WHERE n.name = :agent
    AND (
        EXISTS (
            SELECT 1
            FROM items i
            WHERE i.recipient = e.number AND i.state = 'pending' AND i.priority > -1
                AND (i.expires_at IS NULL OR i.expires_at > :now)
        )
        OR EXISTS (
            SELECT 1 FROM claims c WHERE c.recipient = e.number AND c.ended_at IS NULL AND c.deadline <= :now
        )
        OR EXISTS (
            SELECT 1
            FROM broadcasts b
            WHERE b.number > x.cursor
                AND (b.sender IS NULL OR b.sender <> e.number)
                AND (b.expires_at IS NULL OR b.expires_at > :now)
                AND NOT EXISTS (SELECT 1 FROM items i WHERE i.recipient = e.number AND i.dedup_key = b.dedup_key)
        )
    )
