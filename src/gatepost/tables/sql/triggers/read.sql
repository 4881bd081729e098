SELECT t.number, t.id, t.name, t.provider, t.scheme, t.target, t.prompt, o.name, t.active, t.created_at
FROM triggers t
LEFT JOIN entities o ON o.number = t.owner
WHERE t.name = :name
