-- name: list_plans
-- Pending plans that are enabled and whose next slot is before an instant, with the columns that say when they fire.
SELECT p.id, p.name, o.name AS owner, p.cron, p.zone, p.next_at
FROM plans p
JOIN entities o ON o.number = p.owner
WHERE p.status = 'pending' AND p.active AND p.next_at < :until
    AND (CAST(:owner AS BIGINT) IS NULL OR p.owner = CAST(:owner AS BIGINT))
ORDER BY p.next_at, p.number

-- name: list_triggers
-- Active triggers whose next slot is before an instant.
SELECT * FROM triggers WHERE active AND next_at < :until AND next_at IS NOT NULL ORDER BY next_at, number

-- name: list_past (sqlite)
-- Items whose keys begin with a prefix (`until_key` is after every such key), the newest first: before an item. An
-- inbox may have many items, so each is asked for its keys.
SELECT
    i.dedup_key, e.id AS event, r.name AS recipient_name, i.recipient, i.arrival, i.state, i.expires_at, e.created_at,
    i.ended_at, e.subject,
    substr(coalesce(nullif(e.content, ''), json_extract(e.data, '$.payload'), ''), 1, 200) AS content
FROM entities r
CROSS JOIN items i ON i.recipient = r.number AND i.dedup_key >= :prefix AND i.dedup_key < :until_key
JOIN events e ON e.arrival = i.arrival
WHERE (CAST(:recipient AS BIGINT) IS NULL OR r.number = CAST(:recipient AS BIGINT))
    AND (i.arrival < :before OR (i.arrival = :before AND i.recipient > :after_recipient))
ORDER BY i.arrival DESC, i.recipient
LIMIT :limit

-- name: list_past (postgres)
-- Items whose keys begin with a prefix (`until_key` is after every such key), the newest first: before an item.
SELECT
    i.dedup_key, e.id AS event, r.name AS recipient_name, i.recipient, i.arrival, i.state, i.expires_at, e.created_at,
    i.ended_at, e.subject,
    substr(coalesce(nullif(e.content, ''), (e.data::json -> 'payload')::text, ''), 1, 200) AS content
FROM items i
JOIN entities r ON r.number = i.recipient
JOIN events e ON e.arrival = i.arrival
WHERE (CAST(:recipient AS BIGINT) IS NULL OR i.recipient = CAST(:recipient AS BIGINT))
    AND i.dedup_key LIKE :prefix || '%' AND i.dedup_key COLLATE "C" >= :prefix AND i.dedup_key COLLATE "C" < :until_key
    AND (i.arrival < :before OR (i.arrival = :before AND i.recipient > :after_recipient))
ORDER BY i.arrival DESC, i.recipient
LIMIT :limit
