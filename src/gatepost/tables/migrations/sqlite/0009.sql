-- oldest: 1

-- Nothing: the number is taken.
SELECT 1;
