SELECT h.*, g.hops, g.hops_at
FROM gates g
JOIN gatehouse h ON h.number = g.number
WHERE g.owner = :owner AND g.ended_at IS NULL
ORDER BY g.number
