SELECT number, kind, body, created_at FROM steps WHERE run = :run ORDER BY number
