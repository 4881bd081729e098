-- name: items
-- Items that were taken by a claim that is lost, or that gave them back, are pending again. `taken_items` follows.
INSERT INTO pending
    (recipient, priority, is_from_machine, arrival, source, expires_at, wakes, attempts, size, times, seen_at)
SELECT recipient, priority, is_from_machine, arrival, source, expires_at, wakes, attempts, size, times, seen_at
FROM past
WHERE state = 'taken'
    AND NOT EXISTS (
        SELECT 1 FROM claims c WHERE c.number = past.claim AND (c.ended_at IS NULL OR c.outcome = 'acked')
    )

-- name: taken_items
DELETE FROM past
WHERE state = 'taken'
    AND NOT EXISTS (
        SELECT 1 FROM claims c WHERE c.number = past.claim AND (c.ended_at IS NULL OR c.outcome = 'acked')
    )

-- name: dedup_keys
-- A key without an item would make every event that has it a repeat of nothing.
DELETE FROM dedup_keys
WHERE NOT EXISTS (
    SELECT 1 FROM items i WHERE i.recipient = dedup_keys.recipient AND i.arrival = dedup_keys.arrival
)

-- name: events
-- Events without items belong to no inbox.
DELETE FROM events
WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = events.arrival)
    AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = events.arrival)

-- name: names
INSERT INTO names (name, entity, is_alias)
SELECT e.name, e.number, FALSE FROM entities e WHERE NOT EXISTS (SELECT 1 FROM names n WHERE n.name = e.name)

-- name: inboxes
INSERT INTO inboxes (recipient, fence, cursor)
SELECT e.number, 0, c.value
FROM entities e
JOIN counters c ON c.name = 'broadcast'
WHERE NOT EXISTS (SELECT 1 FROM inboxes i WHERE i.recipient = e.number)

-- name: accounts
-- What an inbox has accepted is what is known to have become of it.
INSERT INTO accounts (recipient, accepted, delivered, expired, discarded)
SELECT e.number, (SELECT count(*) FROM items i WHERE i.recipient = e.number), 0, 0, 0
FROM entities e
WHERE e.number IN (SELECT recipient FROM items) OR e.number IN (SELECT recipient FROM accounts)
ON CONFLICT (recipient) DO UPDATE SET
    accepted = excluded.accepted + accounts.delivered + accounts.expired + accounts.discarded
