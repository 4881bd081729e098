-- Gates that cannot go on without somebody: whom they hold, or who has to do something about them. Decisions are left
-- out: theirs go on as long as one of those asked is there.
SELECT id
FROM gates
WHERE ended_at IS NULL AND kind <> 'decision' AND (owner = :entity OR awaited = :entity)
ORDER BY number
