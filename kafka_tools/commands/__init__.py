"""The commands, a folder for each family. Only ``cli.py`` and ``scripts.py`` import them, through ``registry``.

How a command is written (``cluster/broker_api_versions.py`` is the smallest):

* ``command``: a click command created with ``@click.command(name="kafka-<name>", cls=Command)``; its options come from
  ``options.option`` and the shared decorators ``connection_options()`` and ``output_options()``.
* At the top import only click, ``options`` and ``running``. Everything else (net, admin, records, json) is imported in
  the function that needs it, so that ``--help`` stays fast; ``tests/test_startup.py`` checks it.
* The function parses, calls, prints and returns its exit status (None is 0). Only data goes to stdout. Remarks go to
  stderr through ``running.note``. The function ends with ``return running.show_rows(kind, rows, output_format,
  as_text)``. This prints Kafka's text or the form of ``-o``, complains about items that failed and returns the
  status. A function that has printed Kafka's text itself ends with ``running.finish(Rows(...), output_format)``.
* Errors are raised as ``kafka_tools.errors``: ``UsageError`` for an invalid command line (exit 2), any other class
  of that module for exit 1. ``click.UsageError`` works as well. Do not catch an error that you cannot handle.
* The command creates its result once, as rows (``output.rows``). They give Kafka's text (``output/kafka/text.py``) and
  every form of ``-o``. ``output_options`` names the kind of rows, which has a row in ``output/kinds.py``, a file in
  ``schemas/`` and a case in ``tests/output/contract_cases.py``.
* One row in ``registry.COMMANDS``, one name in pyproject.toml, one page in ``docs/commands/``: ``python -m
  tests.regen`` fills in the options and the tables of commands.
"""
