-- name: insert
INSERT INTO keys (id, prefix, hash, kind, entity, trigger_id, name, created_at)
VALUES (:id, :prefix, :hash, :kind, :entity, :trigger, :name, :now)
ON CONFLICT (hash) DO NOTHING
RETURNING number

-- name: find_by_hash
-- A key that is not revoked, and whose entity is not retired.
SELECT
    k.number, k.id, k.prefix, k.hash, k.kind, e.name AS entity, k.trigger_id AS trigger, k.name, k.created_at,
    k.revoked_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.hash = :hash AND k.revoked_at IS NULL AND e.retired_at IS NULL

-- name: find_by_id_or_prefix
SELECT k.number, k.id, k.prefix, k.kind, e.name AS entity, k.trigger_id AS trigger, k.name, k.created_at, k.revoked_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.id = :id_or_prefix OR k.prefix = :id_or_prefix
ORDER BY k.number

-- name: list_page
SELECT k.number, k.id, k.prefix, k.kind, e.name AS entity, k.trigger_id AS trigger, k.name, k.created_at, k.revoked_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.number > :after
ORDER BY k.number
LIMIT :limit

-- name: revoke
UPDATE keys SET revoked_at = :now WHERE number = :number AND revoked_at IS NULL
