"""Group members as state machines without I/O: of consumer groups (KIP-848), of share groups (KIP-932)."""
