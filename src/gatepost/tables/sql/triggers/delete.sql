DELETE FROM triggers WHERE number = :number
