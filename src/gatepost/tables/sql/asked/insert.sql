INSERT INTO asked (decision, entity) VALUES (:decision, :entity) ON CONFLICT (decision, entity) DO NOTHING
