-- What came to an inbox after one place, up to another; a broadcast that was not taken yet is there as the item it will be.
-- Events are walked in their order, and each is looked up in the inbox: what is new costs what is new, however much is
-- in the inbox, and whatever the planner believes (OFFSET keeps it from reading the whole inbox first). Only those that
-- are found are then read whole.
WITH chosen AS MATERIALIZED (
    SELECT e.xid, e.arrival
    FROM events e
    WHERE (e.xid, e.arrival) > (:after_transaction::text::xid8, :after_arrival)
        AND (e.xid, e.arrival) <= (:to_transaction::text::xid8, :to_arrival)
        AND (
            EXISTS (SELECT 1 FROM items i WHERE i.recipient = :recipient AND i.arrival = e.arrival OFFSET 0)
            OR EXISTS (
                SELECT 1 FROM outbox o
                WHERE o.recipient = :recipient AND o.arrival = e.arrival
                    AND (o.expires_at IS NULL OR o.expires_at > :now)
                OFFSET 0
            )
        )
    ORDER BY e.xid, e.arrival
    LIMIT :most
)
SELECT chosen.xid::text::bigint, item.*
FROM chosen
CROSS JOIN LATERAL (
    SELECT * FROM inbox WHERE recipient = :recipient AND arrival = chosen.arrival
    UNION ALL
    SELECT * FROM outbox WHERE recipient = :recipient AND arrival = chosen.arrival
) AS item
ORDER BY chosen.xid, chosen.arrival
