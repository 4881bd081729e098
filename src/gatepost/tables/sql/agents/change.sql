UPDATE agents SET config = :config, version = version + 1, failures = 0, rest_until = NULL, updated_at = :now
WHERE entity = :entity
