INSERT INTO spaces (id, name, last_seq, created_at)
VALUES (:id, :name, 0, :now)
ON CONFLICT (id) DO NOTHING
RETURNING number
