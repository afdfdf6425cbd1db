"""The columns of the data sources: their names, and their values from headers, records and files."""
