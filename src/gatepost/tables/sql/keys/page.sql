SELECT k.number, k.id, k.prefix, k.hash, k.kind, e.name, k.trigger_id, k.name, k.created_at, k.revoked_at
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.number > :after
ORDER BY k.number
LIMIT :most
