-- Those that every live agent has taken or missed, and the expired. The number itself is never given again.
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
    LIMIT :most
)
RETURNING arrival
