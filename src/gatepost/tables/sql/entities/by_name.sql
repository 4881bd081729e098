SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name, e.created_at, e.retired_at
FROM names n
JOIN entities e ON e.number = n.entity
LEFT JOIN entities o ON o.number = e.owner
WHERE n.name = :name
