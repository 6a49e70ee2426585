"""Durable puts of LangGraph's PostgreSQL checkpointer: `puts.py FOLDER_OF_SOCKET SCHEMA COUNT threads|tasks CALLERS`.

Each caller writes checkpoints of a thread of its own, one after the other, with one message of about 300 bytes in each of
them. A saver lets one call in at a time, so each caller has one; they share connections. Prints how many seconds all of it
took, without what comes before and after.
"""

import asyncio
import sys
import threading
import time
from contextlib import ExitStack

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

folder, schema, count, way, callers = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
address = f"host={folder} user=postgres dbname=postgres options='-c search_path={schema}'"
settings = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
words = (
    "Check the retry of the request because the cache was cold when the worker began, and the answer that it gave was not "
    "the one that the test expects; before the next change, measure which of the two reads is slower, since the index of "
    "the table is larger than the memory that the server may use for it, and"
)


def puts(caller):
    """The checkpoints of one caller, with what `put` takes."""
    config = {"configurable": {"thread_id": f"thread-{caller}-{time.time_ns()}", "checkpoint_ns": ""}}
    for step in range(count // callers):
        checkpoint = empty_checkpoint()
        version = f"{step + 1:032}.0"
        checkpoint["channel_values"] = {"messages": [{"role": "assistant", "content": f"{words} {caller} {step}"}]}
        checkpoint["channel_versions"] = {"messages": version}
        yield config, checkpoint, {"source": "loop", "step": step, "parents": {}}, {"messages": version}
        config = {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}


def with_threads():
    with ExitStack() as stack:
        pool = stack.enter_context(
            ConnectionPool(address, min_size=min(callers, 16), max_size=min(callers, 16), kwargs=settings)
        )
        pool.wait()
        PostgresSaver(pool).setup()
        savers = [PostgresSaver(pool) for _ in range(callers)]

        def work(caller):
            for put in puts(caller):
                savers[caller].put(*put)

        threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started


async def with_tasks():
    pool = AsyncConnectionPool(
        address, min_size=min(callers, 16), max_size=min(callers, 16), kwargs=settings, open=False
    )
    async with pool:
        await pool.wait()
        await AsyncPostgresSaver(pool).setup()
        savers = [AsyncPostgresSaver(pool) for _ in range(callers)]

        async def work(caller):
            for put in puts(caller):
                await savers[caller].aput(*put)

        started = time.perf_counter()
        await asyncio.gather(*(work(caller) for caller in range(callers)))
        return time.perf_counter() - started


print(with_threads() if way == "threads" else asyncio.run(with_tasks()))
