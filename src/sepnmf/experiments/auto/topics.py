"""Anchor words of news articles, and the topics they stand for."""

from typing import Any

import numpy as np

from sepnmf.datasets import load_bbc_news
from sepnmf.experiments.auto.common import PAGE, choose
from sepnmf.experiments.experiment import Check, Experiment, Frame, Row, Scale, pick
from sepnmf.experiments.markdown import section, table
from sepnmf.text import cooccurrence, topic_words

TOPICS, TOP = 10, 10
WORDS = 9635  # of the data set
CLASSES = ("business", "entertainment", "politics", "sport", "tech")


def trials(scale: Scale) -> list[Row]:
    """One selection, of all words or of the most frequent ones."""
    return [{"method": "auto", "topics": TOPICS, "words": pick(scale, WORDS, 2000, 300)}]


def run(method: str, topics: int, words: int) -> list[Row]:
    """The anchor word of each topic, its ten most probable words, and the class that uses them most."""
    data = load_bbc_news()
    counts: Any = data.M
    frequent = np.sort(np.argsort(-np.asarray(counts.sum(axis=0)).ravel(), kind="stable")[:words])
    counts, names = counts[:, frequent], np.array(data.column_names)[frequent]
    classes = np.array([name.split(".")[0] for name in data.row_names])
    together = cooccurrence(counts)
    selection = choose(together, topics, method)
    weights = topic_words(together, selection.anchors)
    rows: list[Row] = []
    for k, anchor in enumerate(selection.anchors):
        top = np.argsort(-weights[k], kind="stable")[:TOP]
        use = [float(counts[classes == name][:, top].sum() / np.sum(classes == name)) for name in CLASSES]
        best = int(np.argmax(use))
        row: Row = {"anchor": str(names[anchor]), "top": " ".join(names[top]), "class": CLASSES[best]}
        rows.append(row | {"share": use[best] / sum(use), "seconds": selection.seconds})
    return rows


def tell(frame: Frame) -> str:
    """The words of each topic."""
    rows = [(row["anchor"], row["top"], row["class"], f"{row['share']:.2f}") for _, row in frame.iterrows()]
    return section(
        "## Topics of news articles",
        f"`sepnmf.select(sepnmf.cooccurrence(counts), {TOPICS})` on the counts of "
        f"{frame['words'].iloc[0]} words in 2225 BBC articles chose these anchor words in "
        f"{frame['seconds'].iloc[0]:.1f} s. Words are stemmed, as in the file. The top ten words of a "
        "topic are its most probable ones (`sepnmf.text.topic_words`): NNLS of each word's "
        "co-occurrences on those of the anchor words, times the frequency of the word. The class is the "
        "one whose articles use these ten words most; the share is its share of their use, and 0.20 "
        "would be even. The method does not see the classes. Whether the topics make sense is for the "
        "reader to judge.",
        table(("anchor word", "top ten words", "class", "share"), rows),
    )


def checks(frame: Frame) -> list[Check]:
    """Each class is the main one of a topic."""
    covered = frame["class"].nunique()
    what = "bbc_news, classes that are the main one of a topic's top ten words"
    return [Check(what, str(covered), str(len(CLASSES)), covered == len(CLASSES))]


EXPERIMENT = Experiment(
    "auto-topics",
    "auto: anchor words of BBC news articles",
    trials,
    run,
    tell,
    data=("bbc_news",),
    page=PAGE,
    checks=checks,
)
