-- Whoever is called that, and how it stands if it is a resident.
SELECT
    e.number, e.name, e.kind, e.display, e.team, e.role, o.name, e.created_at, e.retired_at,
    a.config, a.version, a.paused_at, a.cycles, a.tokens, a.failures, a.rest_until, a.cap
FROM names n
JOIN entities e ON e.number = n.entity
LEFT JOIN entities o ON o.number = e.owner
LEFT JOIN agents a ON a.entity = e.number
WHERE n.name = :name
