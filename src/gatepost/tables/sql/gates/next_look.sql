SELECT min(look_at) FROM gates WHERE ended_at IS NULL AND look_at IS NOT NULL
