"""The log of a partition as a broker keeps it: appended to, rolled, cut, recovered."""
