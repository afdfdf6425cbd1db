"""``kafka_tools.commands.audit``: the name under which jobs given to ``spark-submit`` import the audit's ``main``."""

from kafka_tools.commands.logs.audit import main as main
