SELECT entity, MAX(hops)
FROM sessions
WHERE entity IN (SELECT value FROM json_each(:entities)) AND state <> 'ended'
GROUP BY entity
