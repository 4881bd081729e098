SELECT min(deadline) FROM gates WHERE ended_at IS NULL AND deadline IS NOT NULL AND escalated_at IS NULL
