DELETE FROM replies
WHERE (scope, key) IN (
    SELECT scope, key
    FROM replies
    WHERE created_at <= :before
    ORDER BY created_at
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
