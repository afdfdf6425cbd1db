"""Task specifications: JSON objects → validated values."""
