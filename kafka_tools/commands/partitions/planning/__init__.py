"""Plans of reassignments for ``kafka-reassign-partitions``, computed from plain facts without a broker or a terminal.

``facts.py`` has the input and the result, ``plan.py`` the steps, ``layout.py`` the assignment while it changes.
"""
