-- name: take_start
-- The next beginning of validity of a transaction that an account pays for: ids of one payer differ.
INSERT INTO ledger_payers (network, account, last_start) VALUES (:network, :account, :start)
ON CONFLICT (network, account) DO UPDATE
SET last_start = CASE
    WHEN excluded.last_start > ledger_payers.last_start THEN excluded.last_start
    ELSE ledger_payers.last_start + 1
END
RETURNING last_start

-- name: insert
INSERT INTO ledger_steps (network, step, transaction_id, created_at)
VALUES (:network, :step, :transaction_id, :now)
ON CONFLICT (network, step) DO NOTHING

-- name: read
SELECT transaction_id, receipt FROM ledger_steps WHERE network = :network AND step = :step

-- name: replace
UPDATE ledger_steps SET transaction_id = :transaction_id, receipt = NULL
WHERE network = :network AND step = :step AND transaction_id = :old_id

-- name: finish
UPDATE ledger_steps SET receipt = :receipt
WHERE network = :network AND step = :step AND transaction_id = :transaction_id

-- name: delete_all
-- The steps of something that is done: their names begin with its name.
DELETE FROM ledger_steps
WHERE network = :network AND step >= :first AND step < :last
