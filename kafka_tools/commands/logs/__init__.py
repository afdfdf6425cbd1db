"""Commands about log directories, read without a broker."""
