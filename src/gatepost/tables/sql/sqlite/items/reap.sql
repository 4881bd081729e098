DELETE FROM items
WHERE (recipient, arrival) IN (
    SELECT recipient, arrival
    FROM items
    WHERE state IN ('delivered', 'expired', 'discarded') AND ended_at <= :before
    ORDER BY ended_at
    LIMIT :most
)
RETURNING recipient, arrival, state
