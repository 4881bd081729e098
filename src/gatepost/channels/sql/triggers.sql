-- name: insert
INSERT INTO triggers
    (id, name, provider, scheme, secret, target, prompt, owner, config, active, is_from_file, next_at, created_at)
VALUES
    (:id, :name, :provider, :scheme, :secret, :target, :prompt, :owner, :config, :active, :is_from_file, :next_at, :now)
ON CONFLICT (name) DO NOTHING

-- name: find
SELECT * FROM triggers WHERE name = :name

-- name: read
SELECT * FROM triggers WHERE number = :number

-- name: read_secret
SELECT secret FROM triggers WHERE number = :number

-- name: list_page
SELECT * FROM triggers
WHERE number > :after
    AND (CAST(:provider AS text) IS NULL OR provider = CAST(:provider AS text))
ORDER BY number
LIMIT :limit

-- name: count
SELECT count(*) AS total FROM triggers

-- name: list_active
SELECT * FROM triggers WHERE active AND provider = :provider ORDER BY number

-- name: list_from_file
SELECT * FROM triggers WHERE is_from_file ORDER BY number

-- name: update
UPDATE triggers
SET target = :target, prompt = :prompt, owner = :owner, config = :config, active = :active, next_at = :next_at,
    scheme = :scheme, is_from_file = :is_from_file
WHERE number = :number

-- name: set_secret
UPDATE triggers SET secret = :secret WHERE number = :number

-- name: delete
DELETE FROM triggers WHERE number = :number

-- name: list_due
SELECT number FROM triggers
WHERE active AND next_at <= :now AND next_at IS NOT NULL
ORDER BY next_at, number
LIMIT :limit

-- name: lock_due
SELECT * FROM triggers
WHERE number = :number AND active AND next_at <= :now AND next_at IS NOT NULL
FOR UPDATE SKIP LOCKED

-- name: find_next_due
SELECT min(next_at) AS next_at FROM triggers WHERE active AND next_at IS NOT NULL

-- name: set_next_at
UPDATE triggers SET next_at = :next_at WHERE number = :number

-- name: list_scheduled
-- Triggers that fire again and again and are not due yet.
SELECT * FROM triggers
WHERE number > :after AND active AND next_at > :now AND next_at IS NOT NULL
ORDER BY number
LIMIT :limit

-- name: reschedule
UPDATE triggers SET next_at = :next_at WHERE number = :number AND next_at = :previous_at
