"""The commands, one module each. Nobody imports them but ``cli.py`` and the console scripts.

How a command is written (``broker_api_versions.py`` is the smallest):

* ``command``: a click command made with ``@click.command(name="kafka-<name>", cls=Command)``; its options come from
  ``_options.option`` and the shared decorators ``connection_options()`` and ``output_options()``.
* ``main()``: the entry of the console script, ``_run.main(command, "kafka-<name>")``.
* At the top import only click, ``_options`` and ``_run``. Everything else (net, admin, records, json) is imported in
  the function that needs it, so that ``--help`` stays fast; ``tests/test_startup.py`` checks it.
* The function parses, calls, prints and returns its exit status (None is 0). Data goes to stdout and nothing else
  does; remarks go to stderr through ``_run.note``. Items that failed are reported after those that did not, with
  ``_run.complain``, and the function returns ``_run.FAILED``.
* Errors are raised as ``kafka_tools.errors``: ``UsageError`` when the command line is wrong (exit 2), anything else
  of that tree exits 1. ``click.UsageError`` works as well. Nothing is caught that cannot be handled.
* The result is made once as rows (``output.rows``); Kafka's text (``output/kafka_text.py``), ``-o table``, ``json``
  and ``yaml`` are printed from the same rows.
* One row in ``cli.COMMANDS``, one page in ``docs/commands/`` (``python -m tests.regen help`` fills in the options).
"""
