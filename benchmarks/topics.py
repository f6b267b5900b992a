"""Time and memory of `sepnmf topics` on a generated corpus of 61 000 words × 11 000 documents.

    python benchmarks/topics.py                       # -r 20, the defaults
    python benchmarks/topics.py --min-df 1 --report   # options of sepnmf topics
    python benchmarks/topics.py --documents 3000 --words 20000

Word frequencies follow Zipf's law. Half of the words are as frequent in all topics, the others in a few of
them; each of the 20 topics has one planted anchor word, which is in no other topic. Documents have 150 words
on average (lognormal) and are mixtures of few topics (Dirichlet, 0.1). Three of a hundred words are
misspelled: two thirds of the vocabulary are misspellings, most of which are in one document.

Prints the seconds of the command, its CPU seconds, its peak memory, and whether each planted topic has an
anchor of its own: a chosen word of which more than half the occurrences come from this topic. Exits 1 if the
command takes more than 60 s or 2 GB, or if a topic has no anchor.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

TOPICS, LENGTH, TYPOS, MIXED = 20, 150, 0.03, 0.1
SECONDS, MEGABYTES = 60, 2000


def topic_model(n_words, rng, n_topics=TOPICS):
    """Probabilities of the words that are spelled correctly, topics × words; the first words are anchors."""
    zipf = 1 / (np.arange(n_words) + 10.0)
    shape = np.where(rng.random(n_words) < 0.5, 5.0, 0.1)
    topics = zipf * rng.gamma(shape, 1 / shape, (n_topics, n_words))
    topics /= topics.sum(axis=1, keepdims=True)
    topics[:, :n_topics] = np.diag(rng.uniform(0.002, 0.01, n_topics))
    return topics / topics.sum(axis=1, keepdims=True)


def corpus(n_documents=11_000, n_words=61_000, seed=0, n_topics=TOPICS):
    """Counts (documents × words), the words, and of each word the share of every topic (topics × words)."""
    rng = np.random.default_rng(seed)
    correct = n_words // 3
    topics = topic_model(correct, rng, n_topics)
    mixtures = rng.dirichlet(np.full(n_topics, MIXED), n_documents)
    lengths = np.maximum(rng.lognormal(np.log(LENGTH) - 0.125, 0.5, n_documents).astype(int), 10)
    documents = np.repeat(np.arange(n_documents), lengths)
    from_topic = (rng.random(len(documents))[:, None] > np.cumsum(mixtures, axis=1)[documents]).sum(axis=1)
    from_topic = np.minimum(from_topic, n_topics - 1)
    drawn = np.empty(len(documents), np.intp)
    for k, chances in enumerate(topics):
        here = np.flatnonzero(from_topic == k)
        drawn[here] = rng.choice(correct, len(here), p=chances)
    wrong = rng.random(len(drawn)) < TYPOS
    drawn[wrong] = rng.integers(correct, n_words, wrong.sum())
    entries = (np.ones(len(drawn)), (documents, drawn))
    counts = sparse.coo_array(entries, shape=(n_documents, n_words)).tocsr()
    shares = np.zeros((n_topics, n_words))
    np.add.at(shares, (from_topic, drawn), 1.0)
    shares /= np.maximum(shares.sum(axis=0), 1.0)
    words = [f"anchor{k}" for k in range(n_topics)] + [f"word{j}" for j in range(n_topics, correct)]
    return counts, words + [f"typo{j}" for j in range(correct, n_words)], shares


def covered(anchors, shares):
    """Topics of which a chosen word has more than half of its occurrences."""
    return {int(shares[:, j].argmax()) for j in anchors if shares[:, j].max() > 0.5}


def run(folder, options):
    """Run the command; returns its result, the seconds, the CPU seconds and the peak memory in MB."""
    command = [sys.executable, "-m", "sepnmf", "topics", "counts.npz", "--vocab", "words.txt", *options]
    source = Path(importlib.util.find_spec("sepnmf").origin).resolve().parents[1]
    environment = os.environ | {"PYTHONPATH": str(source)}  # the command runs in another folder
    began = time.perf_counter()
    found = subprocess.run(
        [*command, "--json"], cwd=folder, env=environment, stdout=subprocess.PIPE, check=True
    )
    seconds = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(found.stdout), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--documents", type=int, default=11_000)
    parser.add_argument("--words", type=int, default=61_000)
    parser.add_argument("--seed", type=int, default=0, help="of the corpus")
    given, options = parser.parse_known_args()
    counts, words, shares = corpus(given.documents, given.words, given.seed)
    print(f"{counts.shape[0]:,} documents × {counts.shape[1]:,} words, {counts.nnz:,} counts", flush=True)
    if "-r" not in options:
        options = ["-r", str(TOPICS), *options]
    with tempfile.TemporaryDirectory() as folder:
        sparse.save_npz(Path(folder, "counts.npz"), counts, compressed=False)
        Path(folder, "words.txt").write_text("\n".join(words))
        content, seconds, cpu, peak = run(folder, options)
    found = [words.index(topic["anchor"]) for topic in content["topics"]]
    own = covered(found, shares)
    planted = sum(j < TOPICS for j in found)
    print(
        f"| words used | seconds (limit {SECONDS}) | CPU seconds | peak, MB (limit {MEGABYTES}) | "
        "topics with an anchor | planted words chosen |\n|---|---|---|---|---|---|"
    )
    print(
        f"| {content['columns']:,} | {seconds:.1f} | {cpu:.1f} | {peak:.0f} | {len(own)} of {TOPICS} | "
        f"{planted} |"
    )
    print(f"load {os.getloadavg()[0]:.1f}; without an anchor: {sorted(set(range(TOPICS)) - own)}")
    sys.exit(seconds > SECONDS or peak > MEGABYTES or len(own) < TOPICS)


if __name__ == "__main__":
    main()
