-- Whether a resident has something to think about: a run to go on with, or something that should wake it. `looking` is
-- true when it was told to look: then whatever waits is enough. Every priority is over -1; saying so makes SQLite go by
-- the index of what is pending, however much was delivered.
SELECT 1
FROM agents a
JOIN entities e ON e.number = a.entity AND e.retired_at IS NULL
WHERE a.entity = :entity
    AND a.paused_at IS NULL
    AND (a.rest_until IS NULL OR a.rest_until <= :now)
    AND (
        EXISTS (SELECT 1 FROM runs r WHERE r.agent = a.entity AND r.status = 'running')
        OR EXISTS (
            SELECT 1
            FROM items i
            WHERE i.recipient = a.entity AND i.state = 'pending' AND i.priority > -1
                AND (i.expires_at IS NULL OR i.expires_at > :now)
                AND (:looking OR i.wakes OR (i.priority = 4 AND EXISTS (
                    SELECT 1 FROM events v WHERE v.arrival = i.arrival AND v.created_at <= :fyi_before
                )))
        )
        OR EXISTS (
            SELECT 1
            FROM outbox o
            WHERE o.recipient = a.entity AND (o.expires_at IS NULL OR o.expires_at > :now) AND (:looking OR o.wakes)
        )
    )
