"""The server of the explorer in a thread, and data to explore."""

import asyncio
import contextlib
import queue
import threading

import numpy as np
from scipy import sparse

from sepnmf.explorer._explorer import Explorer
from sepnmf.explorer._server import serve
from sepnmf.explorer._session import Session
from sepnmf.explorer._views import View

HOSTILE = "<img src=x onerror=alert(1)>"
MINERALS = [f"m{k}" for k in range(12)]


@contextlib.contextmanager
def served(session, title="data"):
    """Serve a session as `sepnmf explore` does; yields the address and the explorer."""
    explorer = Explorer(session)
    addresses, loop = queue.Queue(), asyncio.new_event_loop()
    pages = serve(lambda *server: View(explorer, *server).layout, title, 0, addresses.put)

    async def run():
        stopping.append(asyncio.current_task())
        with contextlib.suppress(asyncio.CancelledError):
            await pages

    def until_stopped():
        with asyncio.Runner(loop_factory=lambda: loop) as runner:  # ends what Bokeh has left
            runner.run(run())

    stopping = []
    thread = threading.Thread(target=until_stopped, daemon=True)
    thread.start()
    try:
        yield addresses.get(timeout=60), explorer
    finally:
        loop.call_soon_threadsafe(stopping[0].cancel)
        thread.join(10)
        assert not thread.is_alive()


def write_table(path, seed=0):
    """Write 12 × 40 mixtures of three pure samples; one has a hostile name."""
    rng = np.random.default_rng(seed)
    W, H = rng.random((12, 3)), rng.dirichlet(np.full(3, 0.7), 40).T
    H[:, :3] = np.eye(3)
    M = W @ H + 0.002 * rng.random((12, 40))
    names = [HOSTILE, *(f"sample {k}" for k in range(1, 40))]
    lines = [",".join(["", *names])]
    lines += [
        ",".join([mineral, *(f"{x:.6f}" for x in row)]) for mineral, row in zip(MINERALS, M, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def open_table(folder):
    return Session.open(write_table(folder / "minerals.csv"), 3)


def open_image(folder, seed=0):
    """Open a cube of 14 × 10 pixels and 8 bands, mixtures of three pure pixels in the first line."""
    rng = np.random.default_rng(seed)
    W, H = rng.random((8, 3)), rng.dirichlet(np.full(3, 0.7), 140)
    H[:3] = np.eye(3)
    np.save(folder / "scene.npy", (H @ W.T + 0.002 * rng.random((140, 8))).reshape(14, 10, 8))
    return Session.open(folder / "scene.npy", 3)


def open_counts(folder, seed=0):
    """Open counts of 60 words in 30 documents of three topics; documents and words have names."""
    rng = np.random.default_rng(seed)
    W, H = rng.dirichlet(np.full(60, 0.05), 3).T, rng.dirichlet(np.full(3, 0.4), 30).T
    H[:, :3] = np.eye(3)
    sparse.save_npz(folder / "counts.npz", sparse.csc_array(rng.poisson(80 * W @ H)))
    (folder / "documents.txt").write_text("".join(f"text {k}\n" for k in range(30)))
    (folder / "words.txt").write_text("".join(f"word {k}\n" for k in range(60)))
    names = {"names": str(folder / "documents.txt"), "row_names": str(folder / "words.txt")}
    return Session.open(folder / "counts.npz", 3, **names)
