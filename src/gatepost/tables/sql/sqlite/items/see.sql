UPDATE items SET seen_at = :now
WHERE recipient = :recipient AND seen_at IS NULL
    AND arrival IN (SELECT arrival FROM events WHERE id IN (SELECT value FROM json_each(:events)))
