-- name: insert
-- A second request with the key waits here for the first, and then finds its reply.
INSERT INTO replies (scope, key, digest, body, created_at)
VALUES (:scope, :key, :digest, '', :now)
ON CONFLICT (scope, key) DO NOTHING

-- name: save_reply
UPDATE replies SET body = :body WHERE scope = :scope AND key = :key

-- name: read
SELECT digest, body FROM replies WHERE scope = :scope AND key = :key

-- name: reap (sqlite)
DELETE FROM replies
WHERE (scope, key) IN (
    SELECT scope, key
    FROM replies
    WHERE created_at <= :before
    ORDER BY created_at
    LIMIT :limit
)

-- name: reap (postgres)
WITH old AS MATERIALIZED (
    SELECT scope, key FROM replies WHERE created_at <= :before ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED
)
DELETE FROM replies USING old WHERE replies.scope = old.scope AND replies.key = old.key
