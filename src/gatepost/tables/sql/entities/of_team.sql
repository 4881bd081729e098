SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name, e.created_at, e.retired_at
FROM entities e
LEFT JOIN entities o ON o.number = e.owner
WHERE e.team = :team AND (CAST(:role AS TEXT) IS NULL OR e.role = CAST(:role AS TEXT))
ORDER BY e.number
