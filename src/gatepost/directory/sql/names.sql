-- name: list_aliases
SELECT entity, name
FROM names
WHERE is_alias AND entity IN :entities[]
ORDER BY name

-- name: list_similar
-- Names that a misspelt one may mean: those with the same first letter first.
SELECT n.name
FROM names n
JOIN entities e ON e.number = n.entity
WHERE e.retired_at IS NULL
ORDER BY substr(n.name, 1, 1) <> substr(CAST(:name AS TEXT), 1, 1), n.name
LIMIT 2000

-- name: insert
INSERT INTO names (name, entity, is_alias)
VALUES (:name, :entity, :is_alias)
ON CONFLICT (name) DO NOTHING

-- name: delete
DELETE FROM names WHERE name = :name AND entity = :entity AND is_alias
