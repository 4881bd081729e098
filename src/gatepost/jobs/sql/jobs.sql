-- name: insert
INSERT INTO jobs (id, kind, payload, due_at, attempts) VALUES (:id, :kind, :payload, :due_at, 0)

-- name: take
-- Materialized, because a subquery that PostgreSQL runs more than once skips what it has locked, and so takes more than
-- the limit.
WITH due AS MATERIALIZED (
    SELECT number
    FROM jobs
    WHERE ended_at IS NULL AND due_at <= :now AND (deadline IS NULL OR deadline <= :now) AND kind IN :kinds[]
    ORDER BY due_at, number
    LIMIT :limit
    FOR UPDATE SKIP LOCKED
)
UPDATE jobs SET holder = :holder, deadline = :deadline, attempts = attempts + 1
FROM due WHERE jobs.number = due.number
RETURNING id, kind, payload, attempts - 1 AS attempts, due_at

-- name: renew
UPDATE jobs SET deadline = :deadline WHERE id IN :ids[] AND holder = :holder AND ended_at IS NULL

-- name: finish
UPDATE jobs SET
    ended_at = CAST(:ended_at AS BIGINT), outcome = CAST(:outcome AS TEXT), error = CAST(:error AS TEXT),
    due_at = :due_at, holder = NULL, deadline = NULL
WHERE id = :id AND holder = :holder AND ended_at IS NULL

-- name: find_next_due
-- The next time when a job is due, or when its holder may have died.
SELECT min(CASE WHEN deadline > due_at THEN deadline ELSE due_at END) AS due_at
FROM jobs
WHERE ended_at IS NULL AND kind IN :kinds[]

-- name: make_due
-- Every job that waits for its next try is due now, and its holder may have died.
UPDATE jobs SET due_at = :now, holder = NULL, deadline = NULL
WHERE ended_at IS NULL AND (due_at > :now OR deadline > :future)

-- name: reap
DELETE FROM jobs WHERE number IN (
    WITH old AS MATERIALIZED (
        SELECT number FROM jobs WHERE ended_at IS NOT NULL AND ended_at <= :before ORDER BY ended_at LIMIT :limit
        FOR UPDATE SKIP LOCKED
    )
    SELECT number FROM old
)

-- name: count_open
SELECT count(*) AS total FROM jobs WHERE ended_at IS NULL AND kind = :kind

-- name: find_error
SELECT error FROM jobs
WHERE ended_at IS NULL AND kind = :kind AND error IS NOT NULL
ORDER BY due_at, number
LIMIT 1
