"""Tools that measure: how fast records are written and read, and how long one takes from end to end."""
