-- name: insert
INSERT INTO keys (id, prefix, hash, kind, entity, trigger_id, name, created_at, expires_at)
VALUES (:id, :prefix, :hash, :kind, :entity, :trigger, :name, :now, :expires_at)
ON CONFLICT (hash) DO NOTHING
RETURNING number

-- name: find_by_hash
-- A key that is not revoked and has not ended, and whose entity is not retired.
SELECT
    k.number, k.id, k.prefix, k.hash, k.kind, e.name AS entity, k.trigger_id AS trigger, k.name, k.created_at,
    k.revoked_at, k.expires_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.hash = :hash AND k.revoked_at IS NULL AND e.retired_at IS NULL
    AND (k.expires_at IS NULL OR k.expires_at > :now)

-- name: find_by_id_or_prefix
SELECT
    k.number, k.id, k.prefix, k.kind, e.name AS entity, k.trigger_id AS trigger, k.name, k.created_at, k.revoked_at,
    k.expires_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.kind <> 'link' AND (k.id = :id_or_prefix OR k.prefix = :id_or_prefix)
ORDER BY k.number

-- name: list_page
-- Without links, which end in a moment.
SELECT
    k.number, k.id, k.prefix, k.kind, e.name AS entity, k.trigger_id AS trigger, k.name, k.created_at, k.revoked_at,
    k.expires_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.number > :after AND k.kind <> 'link'
ORDER BY k.number
LIMIT :limit

-- name: revoke
UPDATE keys SET revoked_at = :now WHERE number = :number AND revoked_at IS NULL

-- name: extend
UPDATE keys SET expires_at = :expires_at WHERE number = :number AND revoked_at IS NULL AND expires_at > :now

-- name: delete
DELETE FROM keys WHERE number = :number

-- name: delete_expired
DELETE FROM keys WHERE expires_at <= :now
