"""docs/broker-configs.md says of every config whether it is in force: what is read is, and the rest has a reason."""

from __future__ import annotations

import ast

from kafka_tools.config_definitions import broker, topic
from tests import broker_configs


def test_every_config_is_read_or_has_a_reason() -> None:
    missing = {
        name
        for name in broker.TABLE.keys() | topic.TABLE.keys()
        if name not in broker_configs.read() and broker_configs.reason(name) is None
    }
    assert missing == set(), "say in REASONS why nothing reads it"


def test_names_that_are_put_together_are_where_they_are_said_to_be() -> None:
    modules = dict(broker_configs.readers())
    for name, module in broker_configs.COMPOSED.items():
        tree = ast.parse(modules[module].read_text(encoding="utf-8"))
        ends = {
            part.value.lstrip(".")
            for node in ast.walk(tree)
            if isinstance(node, ast.JoinedStr)
            for part in node.values[-1:]
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        ends |= {text for text in broker_configs.literals(modules[module]) if text}
        assert any(name.endswith(end) for end in ends if "." in end), (name, module)


def test_what_stands_in_no_table_is_not_said_to_be_read() -> None:
    known = broker.TABLE.keys() | topic.TABLE.keys()
    assert broker_configs.read().keys() <= known
    assert known >= broker_configs.WITHOUT_EFFECT
    assert known >= broker_configs.COMPOSED.keys() | broker_configs.SYNONYMS.keys()
