WITH late AS MATERIALIZED (
    SELECT recipient, arrival
    FROM items
    WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now
    ORDER BY expires_at
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
UPDATE items SET state = 'expired', ended_at = :now
FROM late WHERE items.recipient = late.recipient AND items.arrival = late.arrival AND items.state = 'pending'
