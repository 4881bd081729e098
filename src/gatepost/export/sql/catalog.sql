-- name: list_columns (sqlite)
-- Every column: whether it is in the primary key and where, what it refers to, and how a statement for many rows takes
-- it.
SELECT
    t.name AS table_name, c.name AS column_name, lower(c.type) AS type, c.pk AS key_place, c."notnull" AS is_required,
    f."table" AS parent, ':' || c.name AS incoming, NULL AS sequence
FROM sqlite_schema t
JOIN pragma_table_info(t.name) c
LEFT JOIN pragma_foreign_key_list(t.name) f ON f."from" = c.name
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'
ORDER BY t.name, c.cid

-- name: list_columns (postgres)
-- The number of the transaction that stored a row (xid8) means nothing elsewhere.
SELECT
    t.relname AS table_name, c.attname AS column_name, format_type(c.atttypid, c.atttypmod) AS type,
    coalesce(array_position(k.conkey, c.attnum), 0) AS key_place, c.attnotnull AS is_required, p.relname AS parent,
    'unnest(:' || c.attname || '::' || format_type(c.atttypid, c.atttypmod) || '[])' AS incoming,
    CASE WHEN c.attidentity <> '' THEN pg_get_serial_sequence(quote_ident(t.relname), c.attname) END AS sequence
FROM pg_class t
JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p'
LEFT JOIN pg_constraint f ON f.conrelid = t.oid AND f.contype = 'f' AND f.conkey = ARRAY[c.attnum]
LEFT JOIN pg_class p ON p.oid = f.confrelid
WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace AND c.atttypid <> 'xid8'::regtype
ORDER BY t.relname, c.attnum

-- name: list_preparations (sqlite)
-- Statements that give an import the store to itself ({} stands for the tables): its transaction has it already.
SELECT '' AS text WHERE FALSE

-- name: list_preparations (postgres)
-- Statements that give an import the store to itself ({} stands for the tables), for as long as its input takes to
-- come.
SELECT text
FROM (
    VALUES ('SET LOCAL idle_in_transaction_session_timeout = 0'), ('LOCK TABLE {} IN EXCLUSIVE MODE')
) AS v (text)

-- name: count_occupants
-- What is in a store that only its administrator has seen: others, their keys, and processes that are at work there.
SELECT
    (SELECT count(*) FROM entities WHERE name <> :administrator) AS others,
    (SELECT count(*) FROM keys WHERE kind NOT IN ('admin', 'page', 'link')) AS keys,
    (SELECT count(*) FROM leases WHERE holder <> '' AND deadline > :now) AS leases

-- name: read_counters (sqlite)
SELECT name, value FROM counters ORDER BY name

-- name: read_counters (postgres)
-- The last arrival is a counter here too, whatever it is kept in.
SELECT 'arrival' AS name, CASE WHEN is_called THEN last_value ELSE 0 END AS value FROM arrivals
UNION ALL
SELECT name, value FROM counters
ORDER BY name

-- name: set_counters (sqlite)
-- No number is given twice: a counter is never behind the rows.
UPDATE counters
SET value = CASE name
    WHEN 'arrival' THEN max(:arrival, (SELECT coalesce(max(arrival), 0) FROM events))
    WHEN 'ledger' THEN max(
        :ledger,
        (SELECT coalesce(max(CAST(substr(id, 5) AS INTEGER)), 0) FROM topics WHERE network = 'local'),
        (SELECT coalesce(max(CAST(substr(account, 5) AS INTEGER)), 0) FROM ledger_accounts WHERE network = 'local')
    )
    WHEN 'shared' THEN max(:shared, (SELECT coalesce(max(position), 0) FROM shared_entries))
    ELSE max(
        :broadcast,
        (SELECT coalesce(max(number), 0) FROM broadcasts),
        (SELECT coalesce(max(cursor), 0) FROM inboxes)
    )
END

-- name: set_counters (postgres)
-- No number is given twice: a counter is never behind the rows.
WITH counted AS (
    UPDATE counters
    SET value = CASE name
        WHEN 'ledger' THEN greatest(
            :ledger::bigint,
            (SELECT max(substr(id, 5)::bigint) FROM topics WHERE network = 'local'),
            (SELECT max(substr(account, 5)::bigint) FROM ledger_accounts WHERE network = 'local')
        )
        WHEN 'shared' THEN greatest(:shared::bigint, (SELECT max(position) FROM shared_entries))
        ELSE greatest(
            :broadcast::bigint, (SELECT max(number) FROM broadcasts), (SELECT max(cursor) FROM inboxes)
        )
    END
)
SELECT setval('arrivals', nullif(greatest(:arrival::bigint, (SELECT max(arrival) FROM events)), 0))
