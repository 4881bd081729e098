-- name: advance
UPDATE inboxes SET cursor = :cursor WHERE recipient = :recipient

-- name: has_waking_broadcast
SELECT TRUE AS has_waking FROM broadcasts WHERE wakes AND (expires_at IS NULL OR expires_at > :now) LIMIT 1

-- name: list_behind
-- Agents that have not taken the last broadcast that wakes.
SELECT e.number, e.name
FROM inboxes x
JOIN entities e ON e.number = x.recipient
WHERE x.cursor < (
        SELECT coalesce(max(b.number), 0)
        FROM broadcasts b
        WHERE b.wakes AND (b.expires_at IS NULL OR b.expires_at > :now)
    )
    AND e.kind = 'agent'
    AND e.retired_at IS NULL
    AND e.number > :after
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
ORDER BY e.number
LIMIT :limit

-- name: insert
INSERT INTO inboxes (recipient, fence, cursor) VALUES (:recipient, 0, :cursor)

-- name: lock
-- Locks the inbox until the end of the transaction, and takes its next fence.
UPDATE inboxes SET fence = fence + 1 WHERE recipient = :recipient RETURNING fence, cursor

-- name: lock_by_name
-- The same, by a name or an alias of the recipient.
UPDATE inboxes SET fence = fence + 1
WHERE recipient = (SELECT n.entity FROM names n WHERE n.name = :name)
RETURNING fence, cursor

-- name: list_pending
-- Recipients with pending items after a number, and whether an item should wake them that no process works on.
-- Recipients are stepped through by the index, so the cost grows with those who have pending items only.
WITH RECURSIVE step (recipient, steps) AS (
    SELECT (SELECT min(recipient) FROM pending WHERE recipient > :after), 1
    UNION ALL
    SELECT
        (SELECT min(i.recipient) FROM pending i WHERE i.recipient > step.recipient),
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
            FROM pending i
            WHERE i.recipient = e.number
                AND (i.expires_at IS NULL OR i.expires_at > :now)
                AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
                AND i.priority <= coalesce((
                    SELECT t.max_priority FROM attention t WHERE t.entity = e.number AND t.until > :now
                ), 4)
                AND (i.wakes OR (i.priority = 4 AND EXISTS (
                    SELECT 1 FROM events v WHERE v.arrival = i.arrival AND v.created_at <= :fyi_before
                )))
        )
        AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now) AS is_waking
FROM step
JOIN entities e ON e.number = step.recipient
ORDER BY e.number

-- name: has_items
-- True if an agent has anything to read: a pending item, an item of a claim past its deadline, or a broadcast that it
-- has not taken.
SELECT TRUE AS has_items
FROM names n
JOIN entities e ON e.number = n.entity AND e.kind = 'agent' AND e.retired_at IS NULL
JOIN inboxes x ON x.recipient = e.number
WHERE n.name = :agent
    AND (
        EXISTS (
            SELECT 1
            FROM pending i
            WHERE i.recipient = e.number
                AND (i.expires_at IS NULL OR i.expires_at > :now)
                AND (i.hidden_until IS NULL OR i.hidden_until <= :now)
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
                AND NOT EXISTS (
                    SELECT 1 FROM dedup_keys k WHERE k.recipient = e.number AND k.dedup_key = b.dedup_key
                )
        )
    )
