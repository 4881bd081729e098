UPDATE items SET state = 'expired', ended_at = :now
WHERE state = 'pending' AND (recipient, arrival) IN (
    SELECT recipient, arrival
    FROM items
    WHERE state = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now
    ORDER BY expires_at
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
