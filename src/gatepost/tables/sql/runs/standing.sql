-- How long the chain is that led to it by now, and whether its agent is retired.
SELECT r.hops, e.retired_at IS NOT NULL
FROM runs r
JOIN entities e ON e.number = r.agent
WHERE r.number = :number
