-- What another has in hand is skipped: it has ended by the time that commits, or is looked at again.
SELECT id
FROM gates
WHERE ended_at IS NULL AND escalated_at IS NULL AND deadline <= :now
ORDER BY deadline, number
LIMIT :most
FOR UPDATE SKIP LOCKED
