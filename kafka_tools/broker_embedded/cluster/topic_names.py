"""Validates topic names. Rules and texts are those of Kafka's ``Topic`` and ``ReplicationControlManager``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_tools.broker_embedded.refusals import error_for
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.enums import CLUSTER_METADATA

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.cluster.metadata import Cluster

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def name_problem(name: str) -> str | None:
    """The reason why a topic name is invalid; None if it is valid (``Topic.detectInvalidTopic``)."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if not _LEGAL.fullmatch(name):
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None


def check_not_the_brokers_own(name: str) -> None:
    """BrokerError for the name of the cluster's metadata log (``ControllerApis.createTopics``)."""
    if name == CLUSTER_METADATA:
        raise error_for(error_codes.INVALID_REQUEST, f"Creation of internal topic {CLUSTER_METADATA} is prohibited.")


def check_new_name(cluster: Cluster, name: str, others: Iterable[str]) -> None:
    """BrokerError if a topic of this name cannot be created. ``others``: names that it must not collide with."""
    check_not_the_brokers_own(name)
    if cluster.topic(name):
        raise error_for(error_codes.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    problem = name_problem(name)
    if problem:
        raise error_for(error_codes.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    folded = name.replace(".", "_")
    if "." in name or "_" in name:
        for other in others:
            if other.replace(".", "_") == folded:
                raise error_for(
                    error_codes.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
                )
