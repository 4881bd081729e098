-- name: insert (sqlite)
INSERT INTO dedup_keys (recipient, dedup_key, arrival) VALUES (:recipient, :dedup_key, :arrival)
ON CONFLICT DO NOTHING

-- name: insert (postgres)
INSERT INTO dedup_keys (recipient, dedup_key, arrival)
SELECT * FROM unnest(:recipient::bigint[], :dedup_key::text[], :arrival::bigint[])
ON CONFLICT DO NOTHING

-- name: insert_new (sqlite)
-- Of keys that nobody had a moment ago; if somebody has one by now, it is an error.
INSERT INTO dedup_keys (recipient, dedup_key, arrival) VALUES (:recipient, :dedup_key, :arrival)

-- name: insert_new (postgres)
-- Of keys that nobody had a moment ago; if somebody has one by now, it is an error.
INSERT INTO dedup_keys (recipient, dedup_key, arrival)
SELECT * FROM unnest(:recipient::bigint[], :dedup_key::text[], :arrival::bigint[])

-- name: list_taken
-- Those of these keys that the entities with these names or aliases have.
SELECT k.recipient, k.dedup_key
FROM names n
JOIN dedup_keys k ON k.recipient = n.entity
WHERE n.name IN :names[] AND k.dedup_key IN :keys[]

-- name: find_arrivals
-- The recipients of a key, with the arrivals of the items that have it.
SELECT recipient, arrival FROM dedup_keys WHERE recipient IN :recipients[] AND dedup_key = :dedup_key

-- name: find_events
SELECT k.recipient, e.id AS event
FROM dedup_keys k
JOIN events e ON e.arrival = k.arrival
WHERE k.recipient IN :recipients[] AND k.dedup_key = :dedup_key

-- name: free
-- An alert is a repeat only while an equal one is pending: others give their key up.
DELETE FROM dedup_keys
WHERE recipient IN :recipients[] AND dedup_key = :dedup_key
    AND NOT EXISTS (
        SELECT 1
        FROM pending i
        WHERE i.recipient = dedup_keys.recipient AND i.arrival = dedup_keys.arrival
            AND (i.expires_at IS NULL OR i.expires_at > :now)
    )

-- name: remove (sqlite)
-- The keys of items that were removed; their events are there still.
DELETE FROM dedup_keys
WHERE recipient = :recipient AND arrival = :arrival
    AND dedup_key = (SELECT e.dedup_key FROM events e WHERE e.arrival = :arrival)

-- name: remove (postgres)
-- The keys of items that were removed; their events are there still.
DELETE FROM dedup_keys k
USING unnest(:recipient::bigint[], :arrival::bigint[]) AS old (recipient, arrival)
JOIN events e ON e.arrival = old.arrival
WHERE k.recipient = old.recipient AND k.dedup_key = e.dedup_key AND k.arrival = old.arrival
