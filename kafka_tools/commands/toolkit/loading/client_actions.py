"""The actions of ``kafka-tools load client``. Requests and texts are those of Trogdor's ``CoordinatorClient``."""

from __future__ import annotations

import json
from typing import Any

from kafka_tools.commands.documents import parse
from kafka_tools.commands.running import emit
from kafka_tools.commands.toolkit.loading.read_document import read_document
from kafka_tools.errors import InputError
from kafka_tools.load.web.rest_client import RestClient


def perform(client: RestClient, action: str, value: Any, *, is_agent: bool, stop_agents: bool) -> None:
    """Perform one action and print its result."""
    if action == "status":
        role = "agent" if is_agent else "coordinator"
        _show(f"Got {role} status", client.send("GET", f"/{role}/status"))
    elif action == "show_tasks":
        _show("Got coordinator tasks", client.send("GET", "/coordinator/tasks"))
    elif action == "show_task":
        _show("Got coordinator task", client.send("GET", f"/coordinator/tasks/{value}"))
    elif action == "create_task":
        request = _task(value)
        client.send("POST", "/coordinator/task/create", request)
        emit(f"Sent CreateTaskRequest for task {request['id']}.\n")
    elif action == "stop_task":
        client.send("PUT", "/coordinator/task/stop", {"id": value})
        emit(f"Sent StopTaskRequest for task {value}.\n")
    elif action == "destroy_task":
        client.send("DELETE", "/coordinator/tasks", taskId=value)
        emit(f"Sent DestroyTaskRequest for task {value}.\n")
    else:
        body = {} if is_agent else {"stopAgents": stop_agents}
        client.send("PUT", "/agent/shutdown" if is_agent else "/coordinator/shutdown", body)
        emit("Sent ShutdownRequest.\n")


def _task(given: str) -> dict[str, Any]:
    """The request in a JSON text, or in a file after ``@``."""
    is_file = given.startswith("@")
    place = "--create-task"
    if is_file:
        request, place = read_document(given[1:], "task")
    else:
        request = parse(given, place, f"{place}: invalid JSON")
    if not isinstance(request, dict) or not isinstance(request.get("id"), str) or "spec" not in request:
        raise InputError(f'{place}: invalid task: expected {{"id": ..., "spec": {{...}}}}')
    found: dict[str, Any] = json.loads(json.dumps(request, default=float))
    return found


def _show(title: str, value: Any) -> None:
    emit(f"{title}: {json.dumps(value, indent=2, separators=(',', ' : '), ensure_ascii=True)}\n")
