"""The dashboard's own parts: what pages share. The only room that knows Streamlit."""
