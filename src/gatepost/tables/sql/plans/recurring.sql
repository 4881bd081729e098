SELECT p.number, p.id, o.name, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.next_at, p.last_at,
    p.fired, p.created_at, p.ended_at, g.id, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
LEFT JOIN gates g ON g.number = p.gate
WHERE p.status = 'pending' AND p.cron IS NOT NULL AND p.next_at > :now AND p.number > :after
ORDER BY p.number
LIMIT :most
