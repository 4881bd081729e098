-- The longest chain behind what each of these entities sends next: of its open run, and of what reached its inbox.
-- Its items are stepped through, newest first, back to the last one from a person, the time given, or `limit` items.
-- What it sent itself and has not read yet stands beside what it sends next, not before it.
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
SELECT recipient, max(hops)
FROM (
    SELECT recipient, hops FROM step WHERE hops IS NOT NULL
    UNION ALL
    SELECT agent, hops FROM runs WHERE agent IN (SELECT value FROM json_each(:entities)) AND status = 'running'
) AS links
GROUP BY recipient
