-- The oldest space of that title.
SELECT number, id, name, last_seq, created_at, archived_at FROM spaces WHERE name = :name ORDER BY number LIMIT 1
