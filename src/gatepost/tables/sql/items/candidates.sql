-- The first in the order in which items get into a batch.
SELECT arrival, priority, sender_is_person, source, size
FROM items
WHERE recipient = :recipient
    AND state = 'pending'
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY priority, sender_is_person DESC, arrival
LIMIT :most
