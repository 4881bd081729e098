SELECT entity, name
FROM names
WHERE is_alias AND entity IN (SELECT value FROM json_each(:entities))
ORDER BY name
