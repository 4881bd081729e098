-- Items of a recipient by their keys, or by the ids of their events. Both begin with what is asked for: the history of a
-- recipient may be long.
SELECT i.dedup_key, e.id, i.arrival, i.state, i.expires_at
FROM json_each(:keys) k
CROSS JOIN items i ON i.recipient = :recipient AND i.dedup_key = k.value AND i.dedup_key IS NOT NULL
JOIN events e ON e.arrival = i.arrival
UNION
SELECT i.dedup_key, e.id, i.arrival, i.state, i.expires_at
FROM json_each(:events) k
CROSS JOIN events e ON e.id = k.value
CROSS JOIN items i ON i.recipient = :recipient AND i.arrival = e.arrival
