"""Background work: the worker of a process, think cycles, signals, live streams, couriers."""
