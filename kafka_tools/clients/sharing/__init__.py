"""Share consumers (KIP-932): several members read a partition, and each record is acknowledged on its own."""
