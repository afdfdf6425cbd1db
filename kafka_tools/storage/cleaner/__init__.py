"""Compaction of a log: selects a part of it, filters each batch, and replaces segments.

The rules are those of Kafka's ``LogCleanerManager`` (``cleanable``), ``Cleaner`` (``rounds``, ``batch_rewrite``),
``SkimpyOffsetMap`` and ``CleanedTransactionMetadata``. The broker decides when to compact which log.
"""
