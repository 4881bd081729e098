-- Ids begin with the time, so those since then are a range of the index.
SELECT 1
FROM events e
JOIN names n ON n.entity = e.sender
WHERE e.id >= :since AND n.name = :agent
    AND (e.type = 'note' OR e.type = 'event' AND e.ref_type IN ('task', 'phase', 'stage', 'project'))
LIMIT 1
