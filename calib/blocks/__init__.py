"""The blocks of reports and pages, with the HTML and Markdown of each."""
