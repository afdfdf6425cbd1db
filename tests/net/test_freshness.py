"""When a view of the cluster is asked for again: wanted, too old, and never within the backoff."""

import pytest

from kafka_tools.clock import ManualClock
from kafka_tools.net.freshness import Freshness


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def view(clock):
    return Freshness(clock, max_age_ms=60_000, backoff_ms=100)


def test_a_new_view_is_due_at_once(view):
    assert view.is_stale and view.is_due
    assert view.pause_s() == 0.0


@pytest.mark.req("AM-3")
def test_a_view_is_due_again_when_it_is_too_old(view, clock):
    view.attempted()
    view.updated()
    clock.advance(59.9)
    assert not view.is_stale
    clock.advance(0.1)
    assert view.is_due


@pytest.mark.req("AM-3")
def test_a_wanted_view_waits_for_the_backoff_since_the_last_attempt(view, clock):
    view.attempted()
    view.updated()
    view.wanted = True
    clock.advance(0.04)
    assert view.is_stale and not view.is_due
    assert view.pause_s() == pytest.approx(0.06)
    clock.advance(0.061)
    assert view.is_due


def test_an_attempt_without_an_answer_leaves_it_stale(view, clock):
    view.attempted()
    clock.advance(0.2)
    assert view.is_due
