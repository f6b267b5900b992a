"""Where work on data in parts is done: here, or on a Dask cluster that a command connects to."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sepnmf.cli._app import UserError, complain

PATIENCE = 8  # seconds to wait for a scheduler
LOCAL = "local"


@contextmanager
def connected(address: str | None, memory: str | None = None) -> Iterator[Any]:
    """A client of the cluster at this address for as long as the work goes on; None if there is no address.

    "local" is a cluster of processes on this machine, among which and this process `memory` is divided.
    """
    if address is None:
        yield None
        return
    from sepnmf.io._guards import needed

    distributed = needed("distributed")
    with ExitStack() as stack:
        if address == LOCAL:
            cluster = stack.enter_context(local_cluster(distributed, memory))
            client = stack.enter_context(distributed.Client(cluster))
        else:
            check_scheduler(distributed, address)
            client = stack.enter_context(distributed.Client(address, timeout=PATIENCE))
        check_workers(client)
        yield client


def local_cluster(distributed: Any, memory: str | None) -> Any:
    """A process for every core, or every few, as Dask chooses."""
    from sepnmf.io._guards import needed
    from sepnmf.io._memory import LEAST, in_bytes

    workers, threads = needed("distributed.deploy.utils").nprocesses_nthreads()
    limit: Any = "auto"
    if memory is not None:
        limit = in_bytes(memory) // (workers + 1)
        if limit < LEAST:
            least = LEAST * (workers + 1) // 10**6
            raise UserError(
                f"--memory must be at least {least} MB with --dask {LOCAL}, whose {workers} processes share "
                f"it with this one, got {memory}."
            )
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=threads, memory_limit=limit, dashboard_address=":0"
    )


def check_scheduler(distributed: Any, address: str) -> None:
    """Refuse an address where no scheduler answers.

    Asked before there is a client: one that cannot connect waits long, and complains once more when it goes.
    """
    import asyncio

    from sepnmf.io._guards import one_line

    async def reach() -> None:
        security = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(address, timeout=PATIENCE - 1, **security)
        await comm.close()

    async def in_time() -> None:
        await asyncio.wait_for(reach(), PATIENCE)

    try:
        asyncio.run(in_time())
    except TimeoutError:
        raise UserError(
            f"What answers at {address} is no Dask scheduler: is it the dashboard's port?"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"There is no Dask scheduler at {address}: {one_line(error)}.") from None


def check_workers(client: Any) -> None:
    """Refuse workers that could not do the work; say so if there are none yet."""
    workers = client.get_versions(packages=["sepnmf"])["workers"]
    if not workers:
        complain("The cluster has no workers yet: waiting for them.")
    for address, worker in workers.items():
        if worker["packages"].get("sepnmf") is None:
            raise UserError(f"The worker at {address} has no sepnmf: install it there, the same version.")
