"""The state of a KRaft cluster as its metadata log or a snapshot tells it: what a controller knows, offline.

``loading.py`` reads files, ``image.py`` is the state that records make, ``nodes.py`` shows it as Kafka's tree of nodes.
"""
