-- Of these gates those whose owner has got what they wait for since they were made, each with the first event that is
-- it; also by a broadcast that the owner has still to take.
SELECT g.number, g.id, e.id, e.hops
FROM gates g
JOIN events e ON e.arrival = (
    SELECT min(came.arrival)
    FROM (
        SELECT i.arrival FROM items i WHERE i.recipient = g.owner AND i.arrival > g.since
        UNION ALL
        SELECT b.arrival FROM broadcasts b WHERE b.arrival > g.since AND (b.sender IS NULL OR b.sender <> g.owner)
    ) came
    JOIN events v ON v.arrival = came.arrival
    WHERE v.type = g.event_type
        AND (g.event_source IS NULL OR v.source = g.event_source)
        AND (g.kind <> 'mail' OR v.sender = g.awaited)
)
WHERE g.number = ANY (:gates) AND g.ended_at IS NULL
ORDER BY g.number
