INSERT INTO keys (id, prefix, hash, kind, entity, trigger_id, name, created_at, revoked_at)
VALUES (:id, :prefix, :hash, :kind, :entity, :trigger, :name, :created_at, :revoked_at)
ON CONFLICT DO NOTHING
