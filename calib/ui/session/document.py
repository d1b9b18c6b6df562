"""The document that a browser opens, with the look of the pages in it from the start.

Streamlit draws CSS of a page as one more element, whose script arrives after the first content:
until then the navigation stands in the page, the sidebar pushes it aside, and all of it moves.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY, END = b"<body>", b"</body>"
# A browser would keep a document with another style, or none: Streamlit's tags do not know of it.
CONDITIONS = (b"if-none-match", b"if-modified-since")
VALIDATORS = (b"content-length", b"etag", b"last-modified")
# Every other page has controls at the side.
WITHOUT_SIDEBAR = ("", "gallery", "methods")


class Styled:
    """Middleware that writes CSS into every HTML document of the app."""

    def __init__(self, app: ASGIApp, css: str) -> None:
        self.app = app
        # Behind Streamlit's own rules, which stand in the head: the later of equal ones holds.
        self.style = f"<style>{css}</style>".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        held: list[Message] = []

        async def styled(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_document(message):
                held.append(message)
            elif held and message["type"] == "http.response.body":
                held.append(message)
                if not message.get("more_body"):
                    for each in self._with_style(held, scope["path"]):
                        await send(each)
            else:
                await send(message)

        await self.app(_as_text(scope), receive, styled)

    def _with_style(self, held: list[Message], path: str) -> tuple[Message, Message]:
        start, *parts = held
        body = b"".join(part.get("body", b"") for part in parts)
        body = body.replace(END, self.style + END)
        if path.rpartition("/")[2] not in WITHOUT_SIDEBAR:
            body = body.replace(BODY, b'<body class="with-sidebar">')
        headers = [pair for pair in start["headers"] if pair[0].lower() not in VALIDATORS]
        headers.append((b"content-length", str(len(body)).encode()))
        return {**start, "headers": headers}, {"type": "http.response.body", "body": body}


def _as_text(scope: Scope) -> Scope:
    """The same request for a complete, uncompressed document."""
    headers = dict(scope["headers"])
    if b"text/html" not in headers.get(b"accept", b""):
        return scope
    left_out = (b"accept-encoding", *CONDITIONS)
    kept = [pair for pair in scope["headers"] if pair[0] not in left_out]
    return {**scope, "headers": kept}


def _is_document(message: Message) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    kind = headers.get(b"content-type", b"")
    return kind.startswith(b"text/html") and b"content-encoding" not in headers
