-- When the oldest item that waits for an agent or a service came.
SELECT created_at
FROM events
WHERE arrival = (
    SELECT min(i.arrival)
    FROM items i
    JOIN entities r ON r.number = i.recipient
    WHERE i.state = 'pending' AND (i.expires_at IS NULL OR i.expires_at > :now) AND r.kind <> 'human' AND r.retired_at IS NULL
)
