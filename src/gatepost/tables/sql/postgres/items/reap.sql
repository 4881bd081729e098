WITH old AS MATERIALIZED (
    SELECT recipient, arrival
    FROM items
    WHERE state IN ('delivered', 'expired', 'discarded') AND ended_at <= :before
    ORDER BY ended_at
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
DELETE FROM items USING old WHERE items.recipient = old.recipient AND items.arrival = old.arrival
RETURNING items.recipient, items.arrival, items.state
