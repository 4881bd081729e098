SELECT entity, name
FROM names
WHERE is_alias AND entity = ANY (:entities)
ORDER BY name
