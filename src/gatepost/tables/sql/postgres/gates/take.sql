UPDATE gates SET look_at = :until
WHERE number IN (
    SELECT number FROM gates WHERE ended_at IS NULL AND look_at <= :now ORDER BY look_at, number LIMIT :most
    FOR UPDATE SKIP LOCKED
)
RETURNING id
