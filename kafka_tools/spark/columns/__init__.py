"""The columns of the data sources: what they are called, and how they are filled from headers, records and files."""
