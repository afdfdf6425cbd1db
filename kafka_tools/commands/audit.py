"""``kafka_tools.commands.audit``: jobs given to ``spark-submit`` import the audit's ``main`` under this name."""

from kafka_tools.commands.logs.audit import main as main
