DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE seen_at < :before ORDER BY seen_at LIMIT :most)
