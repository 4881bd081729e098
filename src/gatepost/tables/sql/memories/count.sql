SELECT count(*) FROM memories WHERE entity = :entity
