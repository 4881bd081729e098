SELECT
    a.entity, e.name, e.display, a.config, a.version, a.paused_at, a.cycles, a.tokens, a.failures, a.rest_until, a.cap
FROM agents a
JOIN entities e ON e.number = a.entity
WHERE a.entity IN (SELECT value FROM json_each(:entities))
