-- name: save
INSERT INTO attention (entity, max_priority, until) VALUES (:entity, :max_priority, :until)
ON CONFLICT (entity) DO UPDATE SET max_priority = excluded.max_priority, until = excluded.until

-- name: end
-- The row stays: alerts count from its end.
UPDATE attention SET until = :now WHERE entity = :entity AND until > :now

-- name: list_of_entities
SELECT entity, max_priority, until FROM attention WHERE entity IN :entities[] AND until > :now

-- name: is_held
-- True if an item of this priority does not wake an entity now.
SELECT TRUE AS is_held
FROM names n
JOIN attention t ON t.entity = n.entity AND t.until > :now
WHERE n.name = :name AND t.max_priority < :priority

-- name: list_page_uses
-- Until when the page keys of these people are valid, which says when the page was last used.
SELECT entity, max(expires_at) AS expires_at
FROM keys
WHERE kind = 'page' AND revoked_at IS NULL AND entity IN :entities[]
GROUP BY entity
