"""A process that floods a stream with 10,000 requests that wait or mean nothing, and reads none of the segments that it asks for.
Arguments: the address of the playlist, the number of the newest segment, a segment's path, seconds. Prints the number of answers by status."""

import asyncio
import collections
import json
import sys
import time
from urllib.parse import urlsplit

import aiohttp

REQUESTS, CONNECTIONS, SLOW = 10_000, 480, 60


async def ask(session, url, counts):
    try:
        async with session.get(url) as answer:
            await answer.read()
            counts[answer.status] += 1
    except aiohttp.ClientError as error:
        counts[type(error).__name__] += 1


async def slow(port, segment):
    """Asks for a segment again and again, and reads nothing."""
    _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.9", 0), limit=1024)
    writer.write(f"GET {segment} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 50)
    return writer


async def main(url, newest, segment, seconds):
    counts = collections.Counter()
    writers = [await slow(urlsplit(url).port, segment) for _ in range(SLOW)]
    nonsense = [f"_HLS_msn={newest + 2}", "_HLS_msn=4000000000", "_HLS_part=7", "_HLS_msn=%F0%28", "_HLS_msn=1&_HLS_part=-1"]
    queries = [nonsense[n // 2 % 5] if n % 2 else f"_HLS_msn={newest + 1}&_HLS_part=3" for n in range(REQUESTS)]
    end = time.monotonic() + seconds
    sessions = [
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(local_addr=(f"127.0.0.{n + 20}", 0), limit=0)) for n in range(4)]

    async def connection(session):
        while queries and time.monotonic() < end:
            await ask(session, f"{url}?{queries.pop()}", counts)
    try:
        running = [asyncio.ensure_future(connection(sessions[n % 4])) for n in range(CONNECTIONS)]
        await asyncio.wait(running, timeout=seconds)
    finally:
        for session in sessions:
            await session.close()
        for writer in writers:
            writer.transport.abort()
    print(json.dumps({"answers": counts, "left": len(queries)}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])))
