DELETE FROM goals WHERE id = :id AND entity = :entity
