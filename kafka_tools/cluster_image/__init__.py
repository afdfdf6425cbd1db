"""The metadata of a KRaft cluster: records in, plain facts out (Kafka's ``MetadataImage``).

``topics.py`` has topics and partitions, ``image.py`` everything that the records of a metadata log come to. The facts
are the newest record of each thing. A change replaces a record and never modifies it, so that a reference shows one
moment.
"""
