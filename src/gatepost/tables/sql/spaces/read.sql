SELECT number, id, name, last_seq, created_at, archived_at FROM spaces WHERE id = :id
