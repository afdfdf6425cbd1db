"""The workloads: each is a worker with its own threads that uses the producer, the consumer or the admin client."""
