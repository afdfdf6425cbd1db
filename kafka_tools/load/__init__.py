"""Workloads that load and measure a cluster, and faults that disturb it: the tasks of Trogdor.

``specs`` reads task specifications, ``workloads`` and ``faults`` perform them, ``states`` decides when. ``local_run``
performs a document in one process, ``web`` has the coordinator and the agents, ``report`` shows the results.
"""
