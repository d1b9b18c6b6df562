"""The dashboard: what pages share, and one package per page. Only here is Streamlit known."""
