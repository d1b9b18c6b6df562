"""Render: a report as a document of blocks, and that as HTML, Markdown, CSV and images."""
