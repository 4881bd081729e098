INSERT INTO keys (id, prefix, hash, kind, entity, trigger_id, name, created_at)
VALUES (:id, :prefix, :hash, :kind, :entity, :trigger, :name, :now)
ON CONFLICT (hash) DO NOTHING
RETURNING number
