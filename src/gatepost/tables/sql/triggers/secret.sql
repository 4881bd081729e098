SELECT secret FROM triggers WHERE number = :number
