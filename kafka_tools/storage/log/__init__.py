"""The log of a partition in a broker: appends, rolling, truncation, recovery."""
