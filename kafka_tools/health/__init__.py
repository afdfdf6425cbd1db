"""What is wrong with a cluster now: facts that an admin client collects, and checks that judge them.

It knows neither the terminal nor commands. ``facts`` asks the cluster; a check is a function of facts, without I/O.
``connecting`` tries each step of a connection.
"""
