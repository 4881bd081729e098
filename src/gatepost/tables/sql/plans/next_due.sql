SELECT min(next_at) FROM plans WHERE status = 'pending'
