"""From a code and a broker's message to an error."""

from __future__ import annotations

import pytest

from kafka_tools.errors import BrokerError
from kafka_tools.net.broker_errors import error_of, has_code
from kafka_tools.protocol import error_codes


@pytest.mark.req("SYS-4")
@pytest.mark.parametrize("code", [error_codes.GROUP_ID_NOT_FOUND, error_codes.NON_EMPTY_GROUP])
def test_errors_of_groups_carry_the_message_that_was_given(code: int) -> None:
    error = error_of(code, "The group is what it is.")
    assert isinstance(error, BrokerError)
    assert str(error) == f"{error_codes.error(code).name}: The group is what it is."
    assert error.broker_message == "The group is what it is."
    assert str(error_of(code)) == f"{error_codes.error(code).name}: {error_codes.error(code).text}"


def test_success_is_no_error() -> None:
    assert error_of(error_codes.NONE, "ignored") is None
    assert not has_code(None, error_codes.NONE)
