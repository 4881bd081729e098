-- name: insert
INSERT INTO goals (id, entity, description, status, priority, created_at, updated_at)
VALUES (:id, :entity, :description, :status, :priority, :now, :now)

-- name: update
UPDATE goals SET description = :description, status = :status, priority = :priority, updated_at = :now
WHERE number = :number

-- name: read
SELECT number, id, description, status, priority, created_at, updated_at
FROM goals
WHERE id = :id AND entity = :entity

-- name: list_page
SELECT number, id, description, status, priority, created_at, updated_at
FROM goals
WHERE entity = :entity AND (CAST(:status AS TEXT) IS NULL OR status = CAST(:status AS TEXT))
ORDER BY priority DESC, number
LIMIT :limit

-- name: delete
DELETE FROM goals WHERE id = :id AND entity = :entity

-- name: count
SELECT count(*) AS total FROM goals WHERE entity = :entity
