SELECT key, value, updated_at
FROM memories
WHERE entity = :entity
ORDER BY updated_at DESC, key
LIMIT :most
