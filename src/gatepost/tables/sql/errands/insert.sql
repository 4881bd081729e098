INSERT INTO errands (id, kind, payload, due_at, attempts) VALUES (:id, :kind, :payload, :due_at, 0)
