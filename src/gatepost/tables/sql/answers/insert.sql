INSERT INTO answers (decision, iteration, outcome, option, words, answered_by, answered_at)
VALUES (:decision, :iteration, :outcome, :option, :words, :answered_by, :now)
ON CONFLICT (decision, iteration) DO NOTHING
