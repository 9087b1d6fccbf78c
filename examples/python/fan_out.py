"""One agent divides work, several do it, and a failed attempt is repeated: with asyncio.

python examples/python/fan_out.py                              # in a folder of its own
python examples/python/fan_out.py http://127.0.0.1:4747        # with a server
"""

from __future__ import annotations

import asyncio
import sys
import tempfile

import baton

PAGES = {f"page-{number}": "word " * (number * 10) for number in range(1, 9)}


async def work(b: baton.AsyncBaton) -> None:
    worker = b.worker(concurrency=2)

    @worker.task("count")
    async def count(job: baton.AsyncJob) -> int:
        if job.input == "page-3" and job.attempt == 1:
            raise baton.RetryLater("the model is busy")  # offered again after its backoff
        await job.progress(0.5)
        return len(PAGES[job.input].split())

    await worker.run()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else None
        async with baton.connect_async(url) if url else baton.open_async(folder) as b:
            workers = [asyncio.create_task(work(b.as_agent(name))) for name in ("ada", "bob")]
            tasks = [
                await b.tasks.create("count", page, backoff={"initial_ms": 50}) for page in PAGES
            ]
            counts = await b.gather(*(task.id for task in tasks), wait=60)
            await b.state.set("words", sum(counts))
            print(dict(zip(PAGES, counts, strict=True)))
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            assert await b.state.value("words") == 360


if __name__ == "__main__":
    asyncio.run(main())
