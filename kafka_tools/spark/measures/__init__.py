"""What lies in the ranges of a log, counted: structures of bounded size that add up in any order."""
