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
WITH keys AS MATERIALIZED (
    SELECT d.recipient, r.name AS recipient_name, d.dedup_key, d.arrival
    FROM entities r
    CROSS JOIN dedup_keys d ON d.recipient = r.number AND d.dedup_key >= :prefix AND d.dedup_key < :until_key
    WHERE (CAST(:recipient AS BIGINT) IS NULL OR r.number = CAST(:recipient AS BIGINT))
        AND (d.arrival < :before OR (d.arrival = :before AND d.recipient > :after_recipient))
    ORDER BY d.arrival DESC, d.recipient
    LIMIT :limit
)
SELECT
    k.dedup_key, e.id AS event, k.recipient_name, i.recipient, i.arrival, i.state, i.expires_at, e.created_at,
    i.ended_at, e.subject,
    substr(coalesce(nullif(e.content, ''), json_extract(e.data, '$.payload'), ''), 1, 200) AS content
FROM keys k
CROSS JOIN items i ON i.recipient = k.recipient AND i.arrival = k.arrival
JOIN events e ON e.arrival = i.arrival
ORDER BY i.arrival DESC, i.recipient

-- name: list_past (postgres)
-- Items whose keys begin with a prefix (`until_key` is after every such key), the newest first: before an item.
SELECT
    k.dedup_key, e.id AS event, r.name AS recipient_name, i.recipient, i.arrival, i.state, i.expires_at, e.created_at,
    i.ended_at, e.subject,
    substr(coalesce(nullif(e.content, ''), (e.data::json -> 'payload')::text, ''), 1, 200) AS content
FROM dedup_keys k
JOIN items i ON i.recipient = k.recipient AND i.arrival = k.arrival
JOIN entities r ON r.number = i.recipient
JOIN events e ON e.arrival = i.arrival
WHERE (CAST(:recipient AS BIGINT) IS NULL OR i.recipient = CAST(:recipient AS BIGINT))
    AND k.dedup_key LIKE :prefix || '%' AND k.dedup_key COLLATE "C" >= :prefix AND k.dedup_key COLLATE "C" < :until_key
    AND (i.arrival < :before OR (i.arrival = :before AND i.recipient > :after_recipient))
ORDER BY i.arrival DESC, i.recipient
LIMIT :limit
