"""One inbox for every agent, and gates that say when it may stop."""
