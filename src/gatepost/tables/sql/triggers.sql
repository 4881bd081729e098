-- name: insert
INSERT INTO triggers (id, name, provider, scheme, secret, target, prompt, owner, active, created_at)
VALUES (:id, :name, :provider, :scheme, :secret, :target, :prompt, :owner, :active, :now)
ON CONFLICT (name) DO NOTHING

-- name: read
SELECT t.number, t.id, t.name, t.provider, t.scheme, t.target, t.prompt, o.name AS owner, t.active, t.created_at
FROM triggers t
LEFT JOIN entities o ON o.number = t.owner
WHERE t.name = :name

-- name: read_secret
SELECT secret FROM triggers WHERE number = :number

-- name: list_page
SELECT t.number, t.id, t.name, t.provider, t.scheme, t.target, t.prompt, o.name AS owner, t.active, t.created_at
FROM triggers t
LEFT JOIN entities o ON o.number = t.owner
WHERE t.number > :after
ORDER BY t.number
LIMIT :limit

-- name: set_active
UPDATE triggers SET active = :is_active WHERE number = :number

-- name: delete
DELETE FROM triggers WHERE number = :number
