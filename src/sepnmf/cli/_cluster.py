"""Connection of a command to a Dask cluster, local or remote."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory
from typing import IO, Any, cast

from sepnmf.cli import _local_cluster
from sepnmf.cli._app import UserError, print_error

PATIENCE = 8  # seconds until a connection attempt fails
LOCAL = "local"


@contextmanager
def connected(address: str | None, memory: str | None = None) -> Iterator[Any]:
    """Connect to the cluster at this address and yield a client; yield None if there is no address.

    The address "local" starts a cluster on this machine; this process and the workers share `memory`.
    """
    if address is None:
        yield None
        return
    from sepnmf.io._guards import needed

    distributed = needed("distributed")
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # tasks of Dask that Ctrl-C ends are no news
    with ExitStack() as stack:
        if address == LOCAL:
            stack.enter_context(without_logs(logging.getLogger("distributed")))
            address = stack.enter_context(local_cluster(memory))
        else:
            check_scheduler(distributed, address)
        client = stack.enter_context(distributed.Client(address, timeout=PATIENCE))
        check_workers(client)
        yield client


@contextmanager
def without_logs(logger: logging.Logger) -> Iterator[None]:
    """Have a logger write nothing for some time: that workers end is no news to those who end them."""
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def local_cluster(memory: str | None) -> Iterator[str]:
    """Start a cluster on this machine, with as many workers as Dask chooses for its cores; yield its address.

    It is in a process group of its own, which is killed afterwards: nothing of it is worth waiting for.
    """
    from sepnmf.io._guards import needed
    from sepnmf.io._memory import LEAST, in_bytes

    workers, threads = needed("distributed.deploy.utils").nprocesses_nthreads()
    limit = None if memory is None else in_bytes(memory) // (workers + 1)
    if limit is not None and limit < LEAST:
        least = LEAST * (workers + 1) // 10**6
        raise UserError(
            f"--memory must be at least {least} MB with --dask {LOCAL}, because {workers} workers and "
            f"this process share it, got {memory}."
        )
    options = {"workers": workers, "threads": threads, "memory": limit or "auto", "path": sys.path}
    where = needed("dask").config.get("temporary-directory", None)
    with (
        TemporaryDirectory(prefix="sepnmf-dask-", dir=where, ignore_cleanup_errors=True) as folder,
        subprocess.Popen(
            [sys.executable, _local_cluster.__file__, json.dumps(options | {"folder": folder})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process,
    ):
        try:
            said = cast("IO[bytes]", process.stdout).readline()
            address, error = json.loads(said or '["", "its process ended"]')
            if not address:
                raise UserError(f"A Dask cluster cannot be started on this machine: {error}")
            yield address
        finally:
            with suppress(OSError):  # macOS refuses it where all have ended
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()


def check_scheduler(distributed: Any, address: str) -> None:
    """Refuse an address where no scheduler answers.

    The check comes before a client is made: a client that cannot connect waits long and logs more errors.
    """
    import asyncio
    import struct

    from sepnmf.io._guards import one_line

    async def reach() -> None:
        security = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=PATIENCE - 1, **security)
        await comm.close()

    try:
        asyncio.run(asyncio.wait_for(reach(), PATIENCE))
    except (TimeoutError, MemoryError, struct.error):  # other answers are read as lengths of messages
        raise UserError(
            f"The service at {address} is not a Dask scheduler: is this the port of the dashboard?"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"There is no Dask scheduler at {address}: {one_line(error)}.") from None


def check_workers(client: Any) -> None:
    """Refuse workers that do not have sepnmf; print a message if there are no workers yet."""
    workers = client.get_versions(packages=["sepnmf"])["workers"]
    if not workers:
        print_error("The cluster has no workers yet: waiting for them.")
    for address, worker in workers.items():
        if worker["packages"].get("sepnmf") is None:
            raise UserError(f"The worker at {address} has no sepnmf: install the same version there.")
