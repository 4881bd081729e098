UPDATE items SET size = size + :by
WHERE state = 'pending' AND source = :name
    AND EXISTS (SELECT 1 FROM events e WHERE e.arrival = items.arrival AND e.sender = :sender)
