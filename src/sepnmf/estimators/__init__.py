"""scikit-learn estimators: SeparableNMF, whose anchors are samples, and AnchorSelector, for features."""

from sepnmf.estimators._anchor_selector import AnchorSelector
from sepnmf.estimators._separable_nmf import SeparableNMF

__all__ = ["AnchorSelector", "SeparableNMF"]
