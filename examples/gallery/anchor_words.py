"""
Find the anchor words of topics
===============================

An anchor word occurs in one topic only: a text that contains *goalkeeper* is about football. In the
co-occurrence matrix of words, the columns of the anchor words explain those of all other words. The weights
show which words belong to which topic. The matrix is sparse and is not converted to a dense one.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse

import sepnmf

# %%
# A corpus
# --------
# The corpus has four topics over 53 words. Some words belong to one topic, some to several, and some to
# all. Each document mixes the topics and has about sixty words.

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

speech = np.zeros((len(topics), len(words)))  # probability of a word in each topic
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
# :func:`sepnmf.cooccurrence` estimates the co-occurrence probabilities without bias on the diagonal. A column
# divided by its sum is the distribution of the words that occur together with one word. Any method that
# accepts sparse data can select among these columns. In a larger corpus remove rare words first: their
# co-occurrences are mostly noise.

Q = sepnmf.cooccurrence(counts)
frequency = np.asarray(Q.sum(axis=0)).ravel()
beside = sparse.csc_array(Q @ sparse.diags_array(1 / frequency))

sel = sepnmf.select(beside, 4, random_state=0)
print("anchor words:", ", ".join(words[j] for j in sel.anchors))

# %%
# Topics
# ------
# The column of each word is a mixture of the columns of the anchor words. The weight times the frequency of
# a word is its contribution to a topic.

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
