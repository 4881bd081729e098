INSERT INTO minds (agent, run, summaries, dropped, created_at) VALUES (:agent, :run, :summaries, :dropped, :now)
