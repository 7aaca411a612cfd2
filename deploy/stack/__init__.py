"""``make stack``: all parts as plain processes on loopback, a scheduled release, and away again."""
