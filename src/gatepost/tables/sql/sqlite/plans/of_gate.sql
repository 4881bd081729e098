SELECT p.number, p.id, o.name, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.next_at, p.last_at,
    p.fired, p.created_at, p.ended_at, g.id, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
JOIN gates g ON g.number = p.gate
WHERE p.gate = :gate AND p.status = 'pending' AND p.next_at IS NULL
ORDER BY p.number
