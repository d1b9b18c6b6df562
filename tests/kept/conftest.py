"""Exported calibrators are files to read: pytest would import and compile those in Python."""

collect_ignore_glob = ["[0-9]*"]
