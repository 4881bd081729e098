SELECT hops FROM gates WHERE number = :number
