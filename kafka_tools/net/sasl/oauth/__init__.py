"""OAUTHBEARER: where tokens come from, and when they are renewed."""
