WITH old AS MATERIALIZED (
    SELECT number FROM plans WHERE ended_at IS NOT NULL AND ended_at <= :before ORDER BY ended_at LIMIT :most
    FOR UPDATE SKIP LOCKED
)
DELETE FROM plans USING old WHERE plans.number = old.number
