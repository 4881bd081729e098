INSERT INTO memories (entity, key, value, updated_at)
VALUES (:entity, :key, :value, :now)
ON CONFLICT (entity, key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at
