-- name: insert
-- A second request with the key waits here for the first, and then finds its reply.
INSERT INTO idempotency_keys (scope, key, digest, body, created_at)
VALUES (:scope, :key, :digest, '', :now)
ON CONFLICT (scope, key) DO NOTHING

-- name: save_reply
UPDATE idempotency_keys SET body = :body WHERE scope = :scope AND key = :key

-- name: read
SELECT digest, body FROM idempotency_keys WHERE scope = :scope AND key = :key

-- name: reap
DELETE FROM idempotency_keys WHERE (scope, key) IN (
    WITH old AS MATERIALIZED (
        SELECT scope, key FROM idempotency_keys WHERE created_at <= :before ORDER BY created_at LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
    SELECT scope, key FROM old
)
