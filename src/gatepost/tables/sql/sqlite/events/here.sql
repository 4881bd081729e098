-- The last place of which everything up to it is there, the first that nobody can have yet, and whether more is held back.
SELECT 0, value, 0, value + 1, FALSE FROM counters WHERE name = 'arrival'
