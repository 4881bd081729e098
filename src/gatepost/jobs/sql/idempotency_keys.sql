-- name: insert
-- A second request with the key waits here for the first, and then finds its reply.
INSERT INTO idempotency_keys (scope, key, digest, body, created_at)
VALUES (:scope, :key, :digest, '', :now)
ON CONFLICT (scope, key) DO NOTHING

-- name: save_reply
UPDATE idempotency_keys SET body = :body WHERE scope = :scope AND key = :key

-- name: read
SELECT digest, body FROM idempotency_keys WHERE scope = :scope AND key = :key

-- name: old_keys (part)
SELECT scope, key FROM idempotency_keys WHERE created_at <= :before ORDER BY created_at LIMIT :limit

-- name: reap (sqlite)
DELETE FROM idempotency_keys WHERE (scope, key) IN ({old_keys})

-- name: reap (postgres)
WITH old AS MATERIALIZED ({old_keys} FOR UPDATE SKIP LOCKED)
DELETE FROM idempotency_keys USING old WHERE idempotency_keys.scope = old.scope AND idempotency_keys.key = old.key
