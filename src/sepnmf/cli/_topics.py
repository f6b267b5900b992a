"""The command topics: anchor words of texts or of word counts."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sepnmf.cli import _options as opt
from sepnmf.cli import _work as work
from sepnmf.cli import _writing as writing
from sepnmf.cli._app import UserError, app, print_error
from sepnmf.cli._commands import ANCHORS
from sepnmf.cli._known import Asked
from sepnmf.cli._options import Scale, Sign
from sepnmf.cli._progress import stage
from sepnmf.cli._result import show, write_page

if TYPE_CHECKING:
    from sepnmf._typing import Bools, Floats, Ints, Sparse
    from sepnmf.io import Data
    from sepnmf.text import Cooccurrence

TOPICS = (*ANCHORS, "topics.csv", "documents.csv")
EXACT_WORDS = 4000  # up to so many, all co-occurrences are formed: 200 MB at most
TOP_DOCUMENTS = 5  # per topic
NAMED = 5  # words that are named as examples of those that are no candidates
SHORT = 0.25  # of the median length: documents with fewer words are not listed

# Beyond the number of classes, too, each further anchor word explains about as much as the one before.
NUMBER_OF_TOPICS = (
    "auto takes the number of topics from which on one more anchor word explains little more of the "
    "co-occurrences of words; it may be far below the number of classes, so look at -r 5, 10 and 20 as well."
)

Top = list[tuple[str, list[tuple[str, float]]]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents and their words.

    Attributes
    ----------
    data : Data
        Counts, documents × words, with the names of both.
    is_text : bool
        Whether the words were counted here.
    """

    data: "Data"
    is_text: bool


@app.command()
def topics(
    file: opt.Texts,
    anchors: opt.Anchors,
    vocabulary: opt.Vocabulary = None,
    text_column: opt.TextColumn = None,
    min_df: opt.MinDf = None,
    max_df: opt.MaxDf = None,
    stop_words: opt.StopWords = None,
    method: opt.Method = "auto",
    set_: opt.Set = None,
    include: opt.IncludedWords = None,
    exclude: opt.ExcludedWords = None,
    words: opt.Words = 10,
    variable: opt.Variable = None,
    names: opt.Names = None,
    row_names: opt.RowNames = None,
    out: opt.Out = None,
    report: opt.Report = False,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
) -> None:
    """Find anchor words and topics of texts or word counts.

    An anchor word occurs, or nearly so, in one topic only. FILE has texts, or counts of words in documents.
    The words of counts are the names of the columns; for counts without names, --vocab gives them, and it
    does not matter whether words are rows or columns.

    Writes topics.csv, the top words of each topic, and documents.csv, the documents with the largest share of
    each topic.
    """
    from sepnmf.text import Cooccurrence, document_topics, topic_words

    options, asked = work.method_options(set_), Asked.of(include, exclude)
    if method == "auto":  # co-occurrences have misfit, and the rows of a projection no noise of their own
        options = {"noise": "none"} | options
    limits = {"min_df": parse_limit(min_df, "--min-df"), "max_df": parse_limit(max_df, "--max-df")}
    listed = None if stop_words in (None, "english", "none") else Path(str(stop_words))
    work.check_request(file, anchors, method, options, asked, others=[vocabulary, listed])
    source = file if file.name else file.resolve()  # "." has no name
    with writing.new_folder(source, out, "topics", TOPICS, vocabulary, listed) as folder:
        read = {"variable": variable, "names": names, "row_names": row_names}
        corpus = load_corpus(file, vocabulary, text_column, read)
        kept, data = choose_words(corpus, stop_words, limits, anchors)
        counts, vocab = as_counts(corpus.data.M)[:, kept], data.column_names
        together = Cooccurrence.of(counts)
        data, is_exact = with_cooccurrences(data, together, seed)
        data, M = work.matrix_of(data, Sign.error, anchors)
        data, known = asked.columns(data, M, are_words=True)
        if anchors == "auto":
            print_error(NUMBER_OF_TOPICS)
        sel, fit, reason = work.find_anchors(M, anchors, method, Scale.none, seed, options, known)
        data = work.with_reason(data, f"{NUMBER_OF_TOPICS} {reason}" if reason else "")
        with stage("computing topics"):
            shares = topic_words(data.M if is_exact else together, sel.anchors)
            best = top_documents(counts, document_topics(counts, shares))
        found = [
            (vocab[anchor], [(vocab[j], float(share[j])) for j in largest(share, words)])
            for anchor, share in zip(sel.anchors, shares, strict=True)
        ]
        labels = corpus.data.row_names or [f"row {i}" for i in range(counts.shape[0])]
        documents = [[(labels[i], share) for i, share in top] for top in best]
        content = writing.record(data, sel, fit, seed=seed, options=options, rows=len(vocab), **known)
        content["topics"] = [
            {
                "anchor": anchor,
                "words": dict(top),
                "documents": [{"row": i, "name": labels[i], "share": share} for i, share in of_topic],
            }
            for (anchor, top), of_topic in zip(found, best, strict=True)
        ]
        paths = [*writing.write_anchors(folder, data, sel, content), *write_topics(folder, content["topics"])]
        if report:
            W = work.anchor_columns(M, sel) if is_exact else together.columns(sel.anchors)
            more: dict[str, Any] = {"topics": found, "documents": documents}
            if not is_exact:
                more["comparison"] = []  # the methods of few columns would take longer than auto
            paths.append(write_page(folder, data, M, sel, W, fit, Scale.none, seed, known, **more))
    head = {"": "right", "anchor word": "left", "top words": "left"}
    lines = [[str(k), anchor, ", ".join(word for word, _ in top)] for k, (anchor, top) in enumerate(found, 1)]
    show(data, sel, content, paths, as_json, head, lines)


def parse_limit(text: str | None, option: str) -> float | None:
    """Parse a number of documents (5) or a fraction of them (0.01)."""
    from sepnmf.text._words import check_limit

    value = None if text is None else work.parse_value(text)
    if text is not None:
        check_limit(value, option)
    return value


def load_corpus(file: Path, vocabulary: Path | None, column: str | None, read: dict[str, Any]) -> Corpus:
    """Read texts and count their words, or read counts with the options `read`."""
    given = [f"--{name.replace('_', '-')}" for name, value in read.items() if value is not None]
    given = ["--vocab", *given] if vocabulary is not None else given
    is_folder = file.is_dir() and file.suffix.lower() != ".zarr"
    is_lines = file.suffix.lower() == ".txt" and not given
    if not (is_folder or is_lines or column is not None):
        return Corpus(load_counts(file, vocabulary, read), is_text=False)
    if given:
        raise UserError(f"{given[0]} is for word counts, and {file.name} contains texts: omit it.")
    return Corpus(count_words(file, column), is_text=True)


def count_words(file: Path, column: str | None) -> "Data":
    """Count the words of texts."""
    from sepnmf.io import Data
    from sepnmf.io._texts import read_texts
    from sepnmf.text import vectorize

    names: list[str] = []
    with stage(f"counting the words of {file.name}", unit="documents") as update:

        def documents() -> Any:
            for name, text in read_texts(file, column):
                names.append(name)
                update(completed=len(names))
                yield text

        try:
            counts, words = vectorize(documents())
        except ValueError as error:
            raise UserError(str(error).replace("documents contain", f"{file.name} contains")) from None
    return Data(M=counts, file=file, variable=column or "", row_names=tuple(names), column_names=words)


def load_counts(file: Path, vocabulary: Path | None, read: dict[str, Any]) -> "Data":
    """Read counts as documents × words."""
    from sepnmf.io import read_names
    from sepnmf.io._omitted import TEXT

    words = None if vocabulary is None else read_names(vocabulary)
    try:
        data = work.load(file, **read)
    except ValueError as error:
        if file.suffix.lower() in (".csv", ".tsv") and "expected a number" in str(error):
            said = str(error).removesuffix(".").partition("; the whole column")[0]
            raise UserError(f"{said}; --text-column NAME reads a column of texts.") from None
        raise
    if file.suffix.lower() in (".csv", ".tsv") and any(TEXT in said for said in data.left_out):
        raise UserError(f"{file.name} has columns of text; --text-column NAME reads a column of texts.")
    if words is None or vocabulary is None:
        data = data if data.column_names else data.transposed()
        if not data.column_names:
            raise UserError(f"{file.name} has no names of words: give a list of them with --vocab FILE.")
        return data
    if data.M.shape[1] != len(words):
        data = data.transposed()
    if data.M.shape[1] != len(words):
        raise UserError(
            f"{vocabulary.name} has {len(words)} words, but {file.name} is {data.M.shape[1]} × "
            f"{data.M.shape[0]}: the number of rows or columns must equal the number of words."
        )
    return replace(data, column_names=words)


def as_counts(M: Any) -> "Sparse":
    """Return counts in a form from which columns can be taken."""
    from sepnmf.text._words import documents_by_words

    return documents_by_words(M)


def choose_words(
    corpus: Corpus, stop_words: str | None, limits: dict[str, float | None], anchors: str
) -> tuple["Bools", "Data"]:
    """Return which words are used, and the data with their names and with what is said about them."""
    from sepnmf.io import read_names
    from sepnmf.text import document_limits, used_words
    from sepnmf.text._words import looks_english, stop_words_of

    data = corpus.data
    all_words, (n_documents, n_words) = data.column_names, data.M.shape
    common: frozenset[str] = frozenset()
    said = []
    with stage("choosing words"):
        if stop_words is None and corpus.is_text:
            is_english = looks_english(data.M, all_words)
            common = stop_words_of("english") if is_english else common
            said.append(
                "The text looks English: stop words are left out; --stop-words none keeps them."
                if is_english
                else "The text does not look English: no stop words are left out (--stop-words FILE)."
            )
        elif stop_words not in (None, "none"):
            common = (
                stop_words_of("english") if stop_words == "english" else frozenset(read_names(stop_words))
            )
        kept = used_words(data.M, all_words, stop_words=common, **limits)
    low, high = document_limits(n_documents, **limits)
    words = tuple(word for word, keep in zip(all_words, kept, strict=True) if keep)
    which = f"in {low:,} to {high:,} of {n_documents:,} documents"
    needed = max(work.check_anchors(anchors) or 2, 2)
    if len(words) < needed:
        raise UserError(
            f"{len(words):,} of {n_words:,} words are {which}, and {needed} are needed: change --min-df or "
            "--max-df."
        )
    absent = " and are no stop words" if common else ""
    if len(words) < n_words:
        said.insert(
            0,
            f"{n_words:,} words, {len(words):,} are used: those that are {which}{absent}; --min-df and "
            "--max-df change that.",
        )
        said.insert(1, not_candidates(data, kept, low, high, common))
    return kept, replace(
        data,
        column_names=words,
        row_names=(),
        wavelengths=(),
        image_shape=None,
        mask=None,
        row_mask=None,
        left_out=(*data.left_out, *said),
    )


def not_candidates(data: "Data", kept: "Bools", low: int, high: int, common: frozenset[str]) -> str:
    """Say how many words are no candidates for anchor words, why, and which, the most frequent first."""
    import numpy as np

    documents = as_counts(data.M).count_nonzero(axis=0)
    listed = np.array([word in common for word in data.column_names], dtype=bool)
    kinds = {
        f"in fewer than {low:,} documents": ~listed & (documents < low),
        f"in more than {high:,}": ~listed & (documents > high),
        "stop words": listed & ~kept,
    }
    parts = []
    for kind, which in kinds.items():
        if which.any():
            first = largest(np.where(which, documents, -1), min(NAMED, int(which.sum())))
            names = ", ".join(data.column_names[j] for j in first)
            more = " …" if which.sum() > NAMED else ""
            parts.append(f"{which.sum():,} {kind} ({names}{more})")
    return f"No candidates for anchor words: {'; '.join(parts)}."


def with_cooccurrences(data: "Data", together: "Cooccurrence", seed: int) -> tuple["Data", bool]:
    """Return the data with the co-occurrences of the words, or a random projection, and which it is."""
    vocab = data.column_names
    if len(vocab) <= EXACT_WORDS:
        with stage("counting co-occurrences"):
            return replace(data, M=together.matrix(), row_names=vocab), True
    with stage("projecting co-occurrences", len(vocab), "words") as update:
        M = together.projected(random_state=seed, on_progress=lambda words: update(completed=words))
    said = (
        f"The co-occurrences of more than {EXACT_WORDS:,} words are projected at random: {M.shape[0]:,} rows "
        f"stand for those of {len(vocab):,} words. Fit and scores are those of the projection; the shares of "
        "words and documents are exact."
    )
    return replace(data, M=M, row_names=vocab, assumptions=(*data.assumptions, said)), False


def largest(values: "Floats", count: int) -> "Ints":
    """Return the places of the largest values, the largest first."""
    import numpy as np

    return np.argsort(-values, kind="stable")[:count]


def top_documents(counts: "Sparse", shares: "Floats") -> list[list[tuple[int, float]]]:
    """Return the documents with the largest share of each topic, of equal ones the longest.

    Short documents are not listed: a few words can belong to any topic.
    """
    import numpy as np

    lengths = np.asarray(counts.sum(axis=1)).ravel()
    listed = np.flatnonzero(lengths >= max(SHORT * np.median(lengths[lengths > 0]), 1))
    found = []
    for share in shares.T:
        best = listed[np.lexsort((-lengths[listed], -share[listed]))[:TOP_DOCUMENTS]]
        found.append([(int(i), float(share[i])) for i in best if share[i] > 0])
    return found


def write_topics(folder: Path, found: list[dict[str, Any]]) -> list[Path]:
    """Write topics.csv and documents.csv."""
    words = [
        [k, topic["anchor"], word, share]
        for k, topic in enumerate(found, 1)
        for word, share in topic["words"].items()
    ]
    documents = [
        [k, topic["anchor"], *document.values()]
        for k, topic in enumerate(found, 1)
        for document in topic["documents"]
    ]
    return [
        writing.write_csv(folder / "topics.csv", ["topic", "anchor", "word", "share"], words),
        writing.write_csv(folder / "documents.csv", ["topic", "anchor", "row", "name", "share"], documents),
    ]
