SELECT * FROM outbox WHERE id = :event ORDER BY recipient LIMIT :most
