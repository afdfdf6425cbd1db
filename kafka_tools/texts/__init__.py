"""Texts that people give and are shown: what a misspelt name may have meant, regular expressions of RE2."""
