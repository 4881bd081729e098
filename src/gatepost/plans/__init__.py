"""Plans: instructions that come to their owner later."""
