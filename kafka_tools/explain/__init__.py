"""What Kafka's numbers and names mean: error codes, APIs and configs, and error texts that contain them.

It knows the definitions of this package only. It knows neither clusters nor commands.
"""
