DELETE FROM errands
WHERE number IN (
    SELECT number FROM errands WHERE ended_at IS NOT NULL AND ended_at <= :before ORDER BY ended_at LIMIT :most
)
