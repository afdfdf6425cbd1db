"""The result of an audit in forms for people and programs: one JSON document, one HTML page made from it."""
