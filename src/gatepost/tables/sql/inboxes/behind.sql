-- Agents that have not taken the last broadcast that wakes.
SELECT e.number, e.name
FROM inboxes x
JOIN entities e ON e.number = x.recipient
WHERE x.cursor < (SELECT coalesce(max(b.number), 0) FROM broadcasts b WHERE b.wakes AND (b.expires_at IS NULL OR b.expires_at > :now))
    AND e.kind = 'agent'
    AND e.retired_at IS NULL
    AND e.number > :after
    AND NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = 'agent:' || e.name AND l.deadline > :now)
ORDER BY e.number
LIMIT :most
