-- Whether an agent has anything to read: an item that is pending, one of a claim that lapsed, or a broadcast that it has
-- not taken. Every priority is over -1; saying so makes SQLite go by the index of what is pending.
SELECT 1
FROM names n
JOIN entities e ON e.number = n.entity AND e.kind = 'agent' AND e.retired_at IS NULL
JOIN inboxes x ON x.recipient = e.number
WHERE n.name = :agent
    AND (
        EXISTS (
            SELECT 1
            FROM items i
            WHERE i.recipient = e.number AND i.state = 'pending' AND i.priority > -1
                AND (i.expires_at IS NULL OR i.expires_at > :now)
        )
        OR EXISTS (
            SELECT 1 FROM claims c WHERE c.recipient = e.number AND c.ended_at IS NULL AND c.deadline <= :now
        )
        OR EXISTS (
            SELECT 1
            FROM broadcasts b
            WHERE b.number > x.cursor
                AND (b.sender IS NULL OR b.sender <> e.number)
                AND (b.expires_at IS NULL OR b.expires_at > :now)
                AND NOT EXISTS (SELECT 1 FROM items i WHERE i.recipient = e.number AND i.dedup_key = b.dedup_key)
        )
    )
