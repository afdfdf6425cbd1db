"""The shell of kafka-metadata-shell: command lines, paths, and the terminal."""
