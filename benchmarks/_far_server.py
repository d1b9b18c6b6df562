"""A server that seems far away: everything to it and from it arrives later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

CHUNK = 1 << 16


@contextmanager
def far(url: str, round_trip: float) -> Iterator[str]:
    """Yield another address of the server at `url`, `round_trip` seconds away."""
    # Playwright runs a loop in the calling thread, so this one runs in its own.
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    listen = _listen(urlsplit(url).port or 80, round_trip / 2.0)
    server = asyncio.run_coroutine_threadsafe(listen, loop).result()
    try:
        yield f"http://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_close(server), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _listen(port: int, delay: float) -> asyncio.Server:
    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("localhost", port)
        # The task is cancelled when the server closes, which asyncio would log.
        with suppress(asyncio.CancelledError):
            await asyncio.gather(_pass(reader, back, delay), _pass(there, writer, delay))

    return await asyncio.start_server(connect, "localhost", 0)


async def _close(server: asyncio.Server) -> None:
    server.close()
    passing = asyncio.all_tasks() - {asyncio.current_task()}
    for task in passing:
        task.cancel()
    await asyncio.gather(*passing, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
    """What is read is written after the delay, in order; what comes meanwhile does not wait."""
    loop, waiting = asyncio.get_running_loop(), asyncio.Queue[tuple[float, bytes]]()

    async def write() -> None:
        while True:
            when, chunk = await waiting.get()
            await asyncio.sleep(max(0.0, when - loop.time()))
            if not chunk:
                break
            writer.write(chunk)
            await writer.drain()
        writer.close()

    writing = asyncio.create_task(write())
    try:
        while chunk := await reader.read(CHUNK):
            waiting.put_nowait((loop.time() + delay, chunk))
    except ConnectionError:
        pass
    waiting.put_nowait((loop.time() + delay, b""))
    await asyncio.gather(writing, return_exceptions=True)
