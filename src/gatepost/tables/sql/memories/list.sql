SELECT key, value, updated_at
FROM memories
WHERE entity = :entity AND (updated_at < :at OR (updated_at = :at AND key > :key))
ORDER BY updated_at DESC, key
LIMIT :most
