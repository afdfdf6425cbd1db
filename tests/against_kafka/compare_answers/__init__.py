"""Real Kafka and the bundled broker, asked the same thousands of questions from the same state.

    python -m tests.against_kafka.compare_answers --requests 5000 --seed 1

For every API that both serve, in every version that both serve: ``right`` makes requests that mean something,
``wrong`` changes single fields of them to what their definitions allow and a careful client would not send. Answers
are made comparable by ``answers`` (ids, times, addresses and the order of hash maps), the state afterwards is read
from both (``world``), and ``accepted`` lists, each with its reason, the differences that stay.
"""
