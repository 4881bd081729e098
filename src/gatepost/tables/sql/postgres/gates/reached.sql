-- The same of all gates by what came after a place: what is new costs what is new, however long they have waited,
-- and whatever the planner believes (OFFSET keeps it from reading all items first).
WITH fresh AS MATERIALIZED (
    SELECT
        e.arrival, e.type, e.source, e.sender,
        EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival) AS for_all
    FROM events e
    WHERE (e.xid, e.arrival) > (:transaction::text::xid8, :arrival)
        AND e.type IN (SELECT event_type FROM gates WHERE ended_at IS NULL AND event_type IS NOT NULL)
),
came AS MATERIALIZED (
    SELECT f.*, i.recipient
    FROM fresh f
    CROSS JOIN LATERAL (SELECT recipient FROM items WHERE items.arrival = f.arrival OFFSET 0) AS i
    UNION ALL
    SELECT f.*, g.owner
    FROM fresh f
    JOIN gates g ON g.event_type = f.type AND g.ended_at IS NULL AND (f.sender IS NULL OR f.sender <> g.owner)
    WHERE f.for_all
)
SELECT g.number, g.id, e.id, e.hops
FROM (
    SELECT w.number, min(came.arrival) AS arrival
    FROM came
    JOIN gates w ON w.owner = came.recipient AND w.event_type = came.type AND w.ended_at IS NULL
    WHERE came.arrival > w.since
        AND (w.event_source IS NULL OR came.source = w.event_source)
        AND (w.kind <> 'mail' OR came.sender = w.awaited)
    GROUP BY w.number
) AS met
JOIN gates g ON g.number = met.number
JOIN events e ON e.arrival = met.arrival
ORDER BY g.number
