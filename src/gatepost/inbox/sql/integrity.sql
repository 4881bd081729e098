-- name: count_lost_events
-- Events that no inbox has or will have.
SELECT count(*) AS total, min(e.id) AS first
FROM events e
WHERE NOT EXISTS (SELECT 1 FROM pending i WHERE i.arrival = e.arrival)
    AND NOT EXISTS (SELECT 1 FROM past i WHERE i.arrival = e.arrival)
    AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival)

-- name: count_stuck_items
-- Claimed items without an open claim: no ack, release or lapse will ever change them.
SELECT count(*) AS total, min(e.name) AS first
FROM past i
JOIN entities e ON e.number = i.recipient
LEFT JOIN claims c ON c.number = i.claim
WHERE i.state = 'taken' AND (c.number IS NULL OR c.outcome <> 'acked')

-- name: count_lost_keys
-- Keys that no item has: whatever is pushed with one of them is a repeat of nothing.
SELECT count(*) AS total, min(k.dedup_key) AS first
FROM dedup_keys k
WHERE NOT EXISTS (SELECT 1 FROM pending i WHERE i.arrival = k.arrival AND i.recipient = k.recipient)
    AND NOT EXISTS (SELECT 1 FROM past i WHERE i.arrival = k.arrival AND i.recipient = k.recipient)

-- name: count_incomplete_entities
-- Entities without the name or the inbox that every registration creates.
SELECT count(*) AS total, min(e.name) AS first
FROM entities e
WHERE NOT EXISTS (SELECT 1 FROM inboxes i WHERE i.recipient = e.number)
    OR NOT EXISTS (SELECT 1 FROM names n WHERE n.name = e.name AND n.entity = e.number AND NOT n.is_alias)
