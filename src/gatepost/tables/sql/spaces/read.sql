-- A space, and whether an entity is a member of it.
SELECT
    s.number, s.id, s.name, s.last_seq, s.created_at, s.archived_at,
    EXISTS (SELECT 1 FROM members m WHERE m.space = s.number AND m.entity = :entity)
FROM spaces s
WHERE s.id = :id
