"""The built-in handlers, one per module; each is imported only for the events on which it is called."""
