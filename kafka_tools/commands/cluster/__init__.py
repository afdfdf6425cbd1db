"""Commands about the cluster itself: brokers, controllers, features, client metrics."""
