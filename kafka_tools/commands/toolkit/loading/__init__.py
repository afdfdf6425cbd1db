"""Parts of ``kafka-tools load``: documents, daemons, the client."""
