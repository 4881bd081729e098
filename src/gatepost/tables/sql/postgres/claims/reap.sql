WITH old AS MATERIALIZED (
    SELECT c.number
    FROM claims c
    WHERE c.ended_at IS NOT NULL AND c.ended_at <= :before
        AND NOT EXISTS (SELECT 1 FROM items i WHERE i.claim = c.number)
    ORDER BY c.ended_at
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
DELETE FROM claims USING old WHERE claims.number = old.number
