SELECT coalesce(max(arrival), 0) FROM events WHERE created_at <= :at
