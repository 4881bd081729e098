SELECT 1
FROM names n
JOIN gates g ON g.owner = n.entity
WHERE n.name = :agent AND g.ended_at IS NULL
LIMIT 1
