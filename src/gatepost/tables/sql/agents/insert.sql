INSERT INTO agents (entity, config, version, cycles, tokens, failures, updated_at)
VALUES (:entity, :config, 1, 0, 0, 0, :now)
ON CONFLICT (entity) DO NOTHING
