-- Forward only, and only for a member that has read that far already.
UPDATE members SET read_seq = :seq
WHERE space = :space AND entity = :entity AND read_seq >= :least AND read_seq < :seq
