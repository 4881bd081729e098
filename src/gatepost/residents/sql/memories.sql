-- name: set
INSERT INTO memories (entity, key, value, updated_at)
VALUES (:entity, :key, :value, :now)
ON CONFLICT (entity, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at

-- name: read
SELECT key, value, updated_at FROM memories WHERE entity = :entity AND key = :key

-- name: list_page
SELECT key, value, updated_at
FROM memories
WHERE entity = :entity AND (updated_at < :at OR (updated_at = :at AND key > :key))
ORDER BY updated_at DESC, key
LIMIT :limit

-- name: delete
DELETE FROM memories WHERE entity = :entity AND key = :key

-- name: count
SELECT count(*) AS total FROM memories WHERE entity = :entity
