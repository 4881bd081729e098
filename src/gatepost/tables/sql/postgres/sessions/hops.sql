-- What somebody says next is the next link: a session has counted it, a run has not.
SELECT entity, MAX(hops)
FROM (
    SELECT entity, hops FROM sessions WHERE entity = ANY (:entities) AND state <> 'ended'
    UNION ALL
    SELECT agent, hops + 1 FROM runs WHERE agent = ANY (:entities) AND status = 'running'
) AS chains
GROUP BY entity
