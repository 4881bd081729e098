SELECT key, value, updated_at FROM memories WHERE entity = :entity AND key = :key
