"""Texts of users: suggestions for misspelt names, and regular expressions in RE2's syntax."""
