-- What another ticker has in hand is skipped: it is advanced by the time that commits.
SELECT p.number, p.id, o.name, p.name, p.instruction, p.cron, p.zone, p.catch_up, p.status, p.next_at, p.last_at,
    p.fired, p.created_at, p.ended_at, g.id, p.hops
FROM plans p
JOIN entities o ON o.number = p.owner
LEFT JOIN gates g ON g.number = p.gate
WHERE p.status = 'pending' AND p.next_at <= :now
ORDER BY p.next_at, p.number
LIMIT :most
FOR UPDATE OF p SKIP LOCKED
