SELECT count(*) FROM goals WHERE entity = :entity
