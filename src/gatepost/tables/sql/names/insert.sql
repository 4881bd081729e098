INSERT INTO names (name, entity, is_alias)
VALUES (:name, :entity, :is_alias)
ON CONFLICT (name) DO NOTHING
