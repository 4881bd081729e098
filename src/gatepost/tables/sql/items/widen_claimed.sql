UPDATE items SET size = size + :by
WHERE state = 'claimed' AND source = :name AND claim IN (SELECT number FROM claims WHERE ended_at IS NULL)
    AND EXISTS (SELECT 1 FROM events e WHERE e.arrival = items.arrival AND e.sender = :sender)
