-- Items that are claimed by nobody: no ack, release or lapse will ever move them.
SELECT count(*), min(e.name)
FROM items i
JOIN entities e ON e.number = i.recipient
LEFT JOIN claims c ON c.number = i.claim
WHERE i.state = 'claimed' AND (c.number IS NULL OR c.ended_at IS NOT NULL)
