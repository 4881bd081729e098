SELECT c.number, c.id, e.name, c.kind, c.owner, c.fence, c.taken_at, c.deadline, c.ended_at, c.outcome
FROM claims c
JOIN entities e ON e.number = c.recipient
WHERE c.id = :id
