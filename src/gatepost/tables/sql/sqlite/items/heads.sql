-- The first few items of other sources than those seen: sources are stepped through by the index, one look-up each.
WITH RECURSIVE step (source, steps) AS (
    SELECT (SELECT min(source) FROM items WHERE recipient = :recipient AND state = 'pending'), 1
    UNION ALL
    SELECT
        (SELECT min(i.source) FROM items i WHERE i.recipient = :recipient AND i.state = 'pending' AND i.source > step.source),
        steps + 1
    FROM step
    WHERE step.source IS NOT NULL AND steps < :steps
),
other (source) AS (
    SELECT source FROM step WHERE source IS NOT NULL AND source NOT IN (SELECT value FROM json_each(:seen)) ORDER BY source LIMIT :sources
)
SELECT i.arrival, i.priority, i.sender_is_person, i.source, i.size
FROM other
JOIN items i ON i.recipient = :recipient AND i.arrival IN (
    SELECT j.arrival
    FROM items j
    WHERE j.recipient = :recipient AND j.state = 'pending' AND j.source = other.source
        AND (j.expires_at IS NULL OR j.expires_at > :now)
    ORDER BY j.priority, j.arrival
    LIMIT :depth
)
ORDER BY i.priority, i.sender_is_person DESC, i.arrival
LIMIT :most
