"""The tables as they are after the last migration."""

from __future__ import annotations

from sqlalchemy import Column, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

# Moments are texts of one width in UTC, which sort as time does in every database.
reports = Table(
    "calib_reports",
    metadata,
    Column("id", Text, primary_key=True),
    Column("saved", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("data_name", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("sentence", Text, nullable=False),
    Column("searched", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

report_tags = Table(
    "calib_report_tags",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("tag", Text, primary_key=True),
)

# A report that is named here and still there rests: it can be restored.
deletions = Table(
    "calib_deletions",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("deleted", Text, nullable=False),
    Column("deleted_by", Text, nullable=False),
)

# Who saved a report, as a sign-in verified it; anonymous reports have none.
owners = Table(
    "calib_owners",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
)

changes = Table(
    "calib_changes",
    metadata,
    Column("report_id", Text, primary_key=True),
    Column("moment", Text, primary_key=True),
    Column("change", Text, primary_key=True),
    Column("title", Text, nullable=False),
    Column("person", Text, nullable=False),
)

schema = Table(
    "calib_schema",
    metadata,
    Column("version", Integer, primary_key=True),
    Column("applied", Text, nullable=False),
)
