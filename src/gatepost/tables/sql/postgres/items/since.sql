-- What came to an inbox after one place, up to another; a broadcast that was not taken yet is there as the item it will be.
-- Which they are is settled by narrow rows; only those are then read whole.
WITH chosen AS MATERIALIZED (
    SELECT e.xid, e.arrival
    FROM events e
    JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival
    WHERE (e.xid, e.arrival) > (:after_transaction::text::xid8, :after_arrival)
        AND (e.xid, e.arrival) <= (:to_transaction::text::xid8, :to_arrival)
    UNION ALL
    SELECT e.xid, e.arrival
    FROM events e
    JOIN outbox o ON o.recipient = :recipient AND o.arrival = e.arrival
    WHERE (e.xid, e.arrival) > (:after_transaction::text::xid8, :after_arrival)
        AND (e.xid, e.arrival) <= (:to_transaction::text::xid8, :to_arrival)
        AND (o.expires_at IS NULL OR o.expires_at > :now)
    ORDER BY xid, arrival
    LIMIT :most
)
SELECT chosen.xid::text::bigint, item.*
FROM chosen
JOIN (
    SELECT * FROM inbox WHERE recipient = :recipient AND arrival IN (SELECT arrival FROM chosen)
    UNION ALL
    SELECT * FROM outbox WHERE recipient = :recipient AND arrival IN (SELECT arrival FROM chosen)
) AS item ON item.arrival = chosen.arrival
ORDER BY chosen.xid, chosen.arrival
