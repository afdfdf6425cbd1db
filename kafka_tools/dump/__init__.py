"""The engine of ``kafka-dump-log``: files of a log directory -> Kafka's text, JSON lines, or sums.

``request`` is what is asked for, ``run`` goes over the files, ``files`` knows what each is, ``walk`` reads a log, and
an ending (``endings``, ``json.ending``, ``summary``) shows what was found. ``text`` and ``json.lines`` are the
reference of their twins in columns.
"""
