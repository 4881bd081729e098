SELECT number, id, description, status, priority, created_at, updated_at
FROM goals
WHERE id = :id AND entity = :entity
