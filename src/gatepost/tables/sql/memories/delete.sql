DELETE FROM memories WHERE entity = :entity AND key = :key
