"""Console clients: records from standard input, records to standard output."""
