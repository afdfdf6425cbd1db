"""OAUTHBEARER: the sources of tokens, and when tokens are renewed."""
