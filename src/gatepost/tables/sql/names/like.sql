-- Names that a misspelt one might mean: those that begin with the same letter first.
SELECT n.name
FROM names n
JOIN entities e ON e.number = n.entity
WHERE e.retired_at IS NULL
ORDER BY substr(n.name, 1, 1) <> substr(CAST(:name AS TEXT), 1, 1), n.name
LIMIT 2000
