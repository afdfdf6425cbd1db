"""How one client serves several threads: its lock (``lock``), its background thread (``background``), and what happens
to clients that nobody closed (``unclosed``)."""
