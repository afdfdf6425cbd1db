"""The records of a topic, for people: ranges, filters, and bytes as text.

It knows no terminal and no command line. It reads with a consumer that joins no group and commits nothing.
"""
