-- Materialized, because a subquery that the planner runs more than once skips what it has locked, and so takes more than
-- the limit.
WITH taken AS MATERIALIZED (
    SELECT number
    FROM errands
    WHERE ended_at IS NULL AND due_at <= :now AND (deadline IS NULL OR deadline <= :now) AND kind = ANY (:kinds)
    ORDER BY due_at, number
    LIMIT :most
    FOR UPDATE SKIP LOCKED
)
UPDATE errands SET holder = :holder, deadline = :deadline, attempts = attempts + 1
FROM taken WHERE errands.number = taken.number
RETURNING id, kind, payload, attempts - 1, due_at
