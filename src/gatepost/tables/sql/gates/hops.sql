SELECT hops FROM gates WHERE number = :number AND hops_at > :since
