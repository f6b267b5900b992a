"""Anchor words: word counts of texts, co-occurrences of words, topics, and their shares in documents."""

from sepnmf.text._cooccurrence import Cooccurrence, cooccurrence
from sepnmf.text._topics import document_topics, topic_words
from sepnmf.text._words import document_limits, used_words, vectorize

__all__ = [
    "Cooccurrence",
    "cooccurrence",
    "document_limits",
    "document_topics",
    "topic_words",
    "used_words",
    "vectorize",
]
