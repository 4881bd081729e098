SELECT h.*, g.hops, g.hops_at
FROM gates g
JOIN gatehouse h ON h.number = g.number
WHERE g.id = :id
