"""
Find the anchor words of topics
===============================

An anchor word occurs in one topic only: a text that says *goalkeeper* is about football. In the matrix of
how often two words occur together, the rows of the anchor words explain those of all other words, and the
weights say which words belong to which topic. The matrix is sparse and stays so.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import sepnmf

# %%
# A corpus
# --------
# Four topics over fifty words. Some words belong to one topic, some to two, and some to all. A document mixes
# the topics, one of them more than the others, and has about sixty words.

rng = np.random.default_rng(0)
topics = {
    "football": "goalkeeper penalty striker referee league stadium coach match player ball team season win",
    "sailing": "spinnaker harbour rudder anchor tide mast crew boat wind sea captain race win team",
    "kitchen": "oven garlic simmer recipe butter onion taste salt chef table fish water sea season",
    "garden": "compost seedling prune soil greenhouse bulb leaf rain sun water season table onion",
}
common = ["the", "day", "time", "people", "long", "good", "water", "week"]
words = sorted({word for text in topics.values() for word in text.split()} | set(common))
column = {word: j for j, word in enumerate(words)}

speech = np.zeros((len(topics), len(words)))  # how likely a word is in each topic
for k, text in enumerate(topics.values()):
    own = [column[word] for word in text.split()]
    speech[k, own] = rng.uniform(0.5, 1.5, len(own))
    speech[k, [column[word] for word in common]] += rng.uniform(0.2, 0.8, len(common))
speech /= speech.sum(axis=1, keepdims=True)

mixtures = rng.dirichlet([0.2] * len(topics), size=3000)
lengths = rng.poisson(60, size=3000)
draws = [rng.multinomial(n, chances) for n, chances in zip(lengths, mixtures @ speech, strict=True)]
counts = sparse.csr_array(np.vstack(draws))
print(f"{counts.shape[0]} documents × {counts.shape[1]} words, {counts.nnz} counts")

# %%
# Anchor words
# ------------
# :func:`sepnmf.cooccurrence` counts pairs of words without the bias that a word has for itself. Its columns,
# divided by their sums, say what occurs beside a word. Any method that takes sparse data can choose among
# them. In a larger corpus leave out the rare words first: what occurs beside them is mostly chance.

Q = sepnmf.cooccurrence(counts)
frequency = np.asarray(Q.sum(axis=0)).ravel()
beside = sparse.csc_array(Q @ sparse.diags_array(1 / frequency))

sel = sepnmf.select(beside, 4, random_state=0)
print("anchor words:", ", ".join(words[j] for j in sel.anchors))

# %%
# Topics
# ------
# Each word's column is a mixture of those of the anchor words. Weight times frequency says how much a word
# adds to a topic.

weights = sepnmf.nnls(beside[:, sel.anchors], beside, sum_to_one=True)
share = weights * frequency
share /= share.sum(axis=1, keepdims=True)

colours = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]
figure, axes = plt.subplots(1, 4, figsize=(10, 4.2), layout="constrained", sharex=True)
for k, (panel, colour) in enumerate(zip(axes, colours, strict=True)):
    top = np.argsort(-share[k])[:12][::-1]
    bars = panel.barh([words[j] for j in top], share[k, top], color=colour, alpha=0.45)
    for bar, j in zip(bars, top, strict=True):
        bar.set_alpha(0.45 if weights[k, j] < 0.9 else 1)
    panel.set_title(words[sel.anchors[k]], fontweight="bold")
    panel.set(xlabel="share of the topic", xticks=[0, 0.04, 0.08])
    panel.spines[["top", "right"]].set_visible(False)
figure.suptitle("Four topics, each under its anchor word (solid: words of one topic only)")
plt.show()
