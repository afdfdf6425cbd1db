"""The REST interfaces of coordinator and agents, with Trogdor's paths and messages."""
