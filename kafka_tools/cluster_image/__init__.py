"""The metadata of a KRaft cluster, built from its records (Kafka's ``MetadataImage``).

``topics.py`` has topics and partitions, ``image.py`` the whole state. The state consists of the newest record of each
object. A change replaces a record and never modifies it, so a reference to a record never changes.
"""
