-- name: find_by_name
SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at, e.retired_at
FROM names n
JOIN entities e ON e.number = n.entity
LEFT JOIN entities o ON o.number = e.owner
WHERE n.name = :name

-- name: find_by_names
SELECT
    n.name AS matched_name, e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at,
    e.retired_at
FROM names n
JOIN entities e ON e.number = n.entity
LEFT JOIN entities o ON o.number = e.owner
WHERE n.name IN :names[]

-- name: list_team
SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at, e.retired_at
FROM entities e
LEFT JOIN entities o ON o.number = e.owner
WHERE e.team = :team AND (CAST(:role AS TEXT) IS NULL OR e.role = CAST(:role AS TEXT))
ORDER BY e.number

-- name: count_team
SELECT count(*) AS total
FROM entities
WHERE team = :team AND (CAST(:role AS TEXT) IS NULL OR role = CAST(:role AS TEXT)) AND retired_at IS NULL

-- name: list_agents_in_space
SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at, e.retired_at
FROM members m
JOIN entities e ON e.number = m.entity
LEFT JOIN entities o ON o.number = e.owner
WHERE m.space = :space AND e.kind = 'agent' AND e.retired_at IS NULL
ORDER BY e.number

-- name: find_by_run
-- The agent of a run, and the tokens of the run.
SELECT
    r.tokens, e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at,
    e.retired_at
FROM runs r
JOIN entities e ON e.number = r.agent
LEFT JOIN entities o ON o.number = e.owner
WHERE r.number = :run

-- name: list_page
SELECT e.number, e.name, e.kind, e.display, e.team, e.role, o.name AS owner, e.created_at, e.retired_at
FROM entities e
LEFT JOIN entities o ON o.number = e.owner
WHERE e.number > :after
    AND (CAST(:kind AS TEXT) IS NULL OR e.kind = CAST(:kind AS TEXT))
    AND (CAST(:team AS TEXT) IS NULL OR e.team = CAST(:team AS TEXT))
    AND (:include_retired OR e.retired_at IS NULL)
ORDER BY e.number
LIMIT :limit

-- name: find_shown
SELECT number FROM entities WHERE display_key = :display_key LIMIT 1

-- name: insert
INSERT INTO entities (name, kind, display, display_key, team, role, owner, created_at)
VALUES (:name, :kind, :display, :display_key, :team, :role, :owner, :now)
ON CONFLICT (name) DO NOTHING
RETURNING number

-- name: lock
-- Locks the row, so that two changes do not undo each other.
UPDATE entities SET display = display WHERE number = :number

-- name: update
UPDATE entities SET
    display = :display, display_key = :display_key, team = CAST(:team AS TEXT), role = CAST(:role AS TEXT),
    owner = CAST(:owner AS BIGINT)
WHERE number = :number

-- name: retire
UPDATE entities SET retired_at = :now WHERE number = :number AND retired_at IS NULL
