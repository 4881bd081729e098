SELECT owner FROM claims WHERE recipient = :recipient AND ended_at IS NULL AND kind = 'run' LIMIT 1
