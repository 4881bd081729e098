DELETE FROM plans
WHERE number IN (
    SELECT number FROM plans WHERE ended_at IS NOT NULL AND ended_at <= :before ORDER BY ended_at LIMIT :most
)
