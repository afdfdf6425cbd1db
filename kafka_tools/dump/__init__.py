"""The engine of ``kafka-dump-log``: converts files of a log directory to Kafka's text, JSON lines, or totals.

``request`` contains the options, ``run`` iterates over the files, ``files`` reads each kind of file, ``walk`` reads a
log, and an ending (``endings``, ``json.ending``, ``summary``) writes the output. ``text`` and ``json.lines`` are the
references for ``text_columns`` and ``json.columns``.
"""
