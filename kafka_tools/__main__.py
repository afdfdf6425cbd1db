"""``python -m kafka_tools``: the same as the ``kafka-tools`` script."""

from kafka_tools.scripts import main

if __name__ == "__main__":
    main()
