SELECT entity, MAX(hops)
FROM sessions
WHERE entity = ANY (:entities) AND state <> 'ended'
GROUP BY entity
