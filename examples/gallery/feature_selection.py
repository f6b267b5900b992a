"""
Select features in a scikit-learn pipeline
==========================================

:class:`sepnmf.AnchorSelector` selects the features that explain all the others. It does not use the target.
It is a scikit-learn feature selector: it can be part of a pipeline, and cross-validation can choose the
number of features.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from sepnmf import AnchorSelector

# %%
# A pipeline
# ----------
# The data are handwritten digits of 8 × 8 pixels, which are 64 features. The selector is fitted inside each
# fold, so that test images do not influence the selection.

X, y = load_digits(return_X_y=True)
classifier = make_pipeline(AnchorSelector(n_features_to_select=16, random_state=0), SVC())
accuracy = cross_val_score(classifier, X, y, cv=3)
print(f"accuracy with 16 of the 64 pixels: {accuracy.mean():.3f} ± {accuracy.std():.3f}")

# %%
# Number of features
# ------------------
# For comparison, the same number of pixels is selected at random, three times.

rng = np.random.default_rng(0)
numbers = [4, 8, 16, 32]
anchors, chance = [], []
for k in numbers:
    classifier.set_params(anchorselector__n_features_to_select=k)
    anchors.append(cross_val_score(classifier, X, y, cv=3).mean())
    draws = [rng.choice(X.shape[1], k, replace=False) for _ in range(3)]
    chance.append([cross_val_score(SVC(), X[:, draw], y, cv=3).mean() for draw in draws])
everything = cross_val_score(SVC(), X, y, cv=3).mean()

# %%
# Plot
# ----
# The selected pixels are numbered, best first. None is at the left or right edge, where the images are empty.

selector = AnchorSelector(n_features_to_select=16, random_state=0).fit(X)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
left.imshow(X.mean(axis=0).reshape(8, 8), cmap="Greys", vmax=24)
for place, pixel in enumerate(selector.anchor_indices_, start=1):
    row, column = divmod(pixel, 8)
    left.plot(column, row, "o", markersize=17, color="#0072b2")
    left.text(column, row, place, color="w", ha="center", va="center", fontsize=9)
left.set(title="Sixteen pixels, on the mean image", xlabel="column", ylabel="row")

right.axhline(everything, color="0.5", linestyle=":", label="all 64 pixels")
right.plot(numbers, anchors, "o-", color="#0072b2", label="anchors")
right.plot(numbers, np.mean(chance, axis=1), "s--", color="#d55e00", label="random pixels")
right.fill_between(numbers, np.min(chance, axis=1), np.max(chance, axis=1), color="#d55e00", alpha=0.15)
right.set(title="Accuracy of a support vector machine", xlabel="pixels kept", ylabel="accuracy, 3-fold")
right.set(xticks=numbers, ylim=(0.2, 1.02))
right.legend(frameon=False, loc="lower right")
right.spines[["top", "right"]].set_visible(False)
plt.show()
