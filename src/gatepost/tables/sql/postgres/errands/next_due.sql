-- When something is to be done next: when it is due, or when whoever has it may have died.
SELECT min(CASE WHEN deadline > due_at THEN deadline ELSE due_at END)
FROM errands
WHERE ended_at IS NULL AND kind = ANY (:kinds)
