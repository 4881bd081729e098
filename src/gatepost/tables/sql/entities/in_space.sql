SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name, e.created_at, e.retired_at
FROM members m
JOIN entities e ON e.number = m.entity
LEFT JOIN entities o ON o.number = e.owner
WHERE m.space = :space AND e.kind = 'agent' AND e.retired_at IS NULL
ORDER BY e.number
