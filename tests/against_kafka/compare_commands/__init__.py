"""Our commands beside Kafka's tools, line by line: text, exit status, and the state that each leaves.

``lines.py`` has the scenarios: command lines that both tools run on the same real cluster, one after the other, and
that leave no trace. ``generated.py`` makes questions from a seed. Each difference needs a rule of ``differences.py``,
whose reason stands on the command's page. ``old_releases.py`` runs changes on brokers that the newest tools cannot ask,
and reads the state back with the tools of their own release.
"""
