"""Measures of the ranges of a log: structures of bounded size that add up in any order."""
