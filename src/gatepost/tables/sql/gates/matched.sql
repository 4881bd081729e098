-- Gates whose owner has got what they wait for since they were made, each with the first event that is it.
SELECT g.id, e.id
FROM gates g
JOIN events e ON e.arrival = (
    SELECT min(i.arrival)
    FROM items i
    JOIN events v ON v.arrival = i.arrival
    WHERE i.recipient = g.owner AND i.arrival > g.since AND v.type = g.event_type
        AND (g.event_source IS NULL OR v.source = g.event_source)
        AND (g.kind <> 'mail' OR v.sender = g.awaited)
)
WHERE g.ended_at IS NULL AND g.event_type IS NOT NULL
ORDER BY g.number
LIMIT :most
