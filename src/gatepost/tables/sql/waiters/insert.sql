INSERT INTO waiters (gate, entity) VALUES (:gate, :entity) ON CONFLICT (gate, entity) DO NOTHING
