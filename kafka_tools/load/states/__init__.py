"""The states of tasks and workers: state machines without I/O that get the time from a clock."""
