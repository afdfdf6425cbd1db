"""The report of a run: the JSON document, and text and an HTML page made from it."""
