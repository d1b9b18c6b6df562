"""The dashboard: the pages, and what they share. Only this package imports Streamlit."""
