-- Entities without the name or the inbox that every registration makes.
SELECT count(*), min(e.name)
FROM entities e
WHERE NOT EXISTS (SELECT 1 FROM inboxes i WHERE i.recipient = e.number)
    OR NOT EXISTS (SELECT 1 FROM names n WHERE n.name = e.name AND n.entity = e.number AND NOT n.is_alias)
