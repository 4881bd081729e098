-- Whose run it is, how long the chain is that led to it, and what it weighs.
SELECT r.hops, r.tokens, e.number, e.name, e.kind, e.display, e.team, e.role, o.name, e.created_at, e.retired_at
FROM runs r
JOIN entities e ON e.number = r.agent
LEFT JOIN entities o ON o.number = e.owner
WHERE r.number = :run
