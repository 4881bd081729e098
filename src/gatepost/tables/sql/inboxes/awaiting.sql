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
    WHERE step.recipient IS NOT NULL AND steps < :most
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
        AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
FROM step
JOIN entities e ON e.number = step.recipient
ORDER BY e.number
