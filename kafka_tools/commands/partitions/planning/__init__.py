"""Where replicas should be: plans for ``kafka-reassign-partitions``, made of plain facts; no broker and no terminal.

``facts.py`` is what goes in and comes out, ``plan.py`` the steps, ``layout.py`` the assignment while it changes.
"""
