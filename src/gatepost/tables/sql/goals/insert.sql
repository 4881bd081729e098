INSERT INTO goals (id, entity, description, status, priority, created_at, updated_at)
VALUES (:id, :entity, :description, :status, :priority, :now, :now)
