UPDATE agents SET paused_at = :at WHERE entity = :entity
