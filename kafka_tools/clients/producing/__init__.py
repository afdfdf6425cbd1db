"""The parts of the producer: records wait in ``accumulator``, ``sender`` sends them, ``upkeep`` is done in between."""
