SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name, e.created_at, e.retired_at
FROM entities e
LEFT JOIN entities o ON o.number = e.owner
WHERE e.number > :after
    AND (CAST(:kind AS TEXT) IS NULL OR e.kind = CAST(:kind AS TEXT))
    AND (CAST(:team AS TEXT) IS NULL OR e.team = CAST(:team AS TEXT))
    AND (:retired OR e.retired_at IS NULL)
ORDER BY e.number
LIMIT :most
