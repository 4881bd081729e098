WITH old AS MATERIALIZED (
    SELECT number FROM errands WHERE ended_at IS NOT NULL AND ended_at <= :before ORDER BY ended_at LIMIT :most
    FOR UPDATE SKIP LOCKED
)
DELETE FROM errands USING old WHERE errands.number = old.number
