"""Compaction of a log: which part of it, what stays of each batch, and the segments that take the place of others.

The rules are those of Kafka's ``LogCleanerManager`` (``cleanable``), ``Cleaner`` (``rounds``, ``batch_rewrite``),
``SkimpyOffsetMap`` and ``CleanedTransactionMetadata``. Knows neither topics nor when it is called: who does it, and how
often, is the broker's business.
"""
