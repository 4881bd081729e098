-- What came to an inbox after one place, up to another; a broadcast that was not taken yet is there as the item it will be.
-- There is one writer, so the arrival says it all; transactions have no number.
SELECT :after_transaction + :to_transaction, inbox.*
FROM inbox
WHERE recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
UNION ALL
SELECT :after_transaction + :to_transaction, outbox.*
FROM outbox
WHERE recipient = :recipient AND arrival > :after_arrival AND arrival <= :to_arrival
    AND (expires_at IS NULL OR expires_at > :now)
ORDER BY arrival
LIMIT :most
