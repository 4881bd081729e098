DELETE FROM plans WHERE number = :number
