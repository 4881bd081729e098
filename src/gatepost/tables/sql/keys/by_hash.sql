-- A key that is in force: not revoked, and whoever it stands for is not retired.
SELECT k.number, k.id, k.prefix, k.kind, e.name, k.trigger_id, k.name, k.created_at, k.revoked_at, k.hash
FROM keys k
LEFT JOIN entities e ON e.number = k.entity
WHERE k.hash = :hash AND k.revoked_at IS NULL AND e.retired_at IS NULL
