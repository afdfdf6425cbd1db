"""The faults: each is a worker that breaks something when it starts and repairs it when it stops."""
