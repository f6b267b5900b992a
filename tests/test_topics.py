"""Topics of texts as they are: what is counted, what is left out, and what is found."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import io, sparse

from sepnmf.cli._topics import top_documents
from sepnmf.io._texts import read_texts
from sepnmf.text import cooccurrence, document_limits, document_topics, topic_words, used_words, vectorize
from sepnmf.text._words import looks_english, stop_words_of

THEMES = {
    "football": "goalkeeper penalty striker referee league stadium coach match player ball",
    "sailing": "spinnaker harbour rudder tide mast crew boat wind sea captain",
    "kitchen": "oven garlic simmer recipe butter onion taste salt chef fish",
}
COMMON = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "it",
    "was",
    "for",
    "on",
    "with",
    "as",
    "at",
    "by",
    "from",
]
ENGLISH = (
    "It was the best of times, it was the worst of times, and we don't know what is to be done about it."
)
GERMAN = (
    "Es war die beste und die schlechteste aller Zeiten, und niemand wusste, was zu tun war, also warten wir."
)
FRENCH = "Longtemps, je me suis couché de bonne heure. Parfois, mes yeux se fermaient si vite que je dormais."


def corpus(documents=300, typos=0.02, seed=0):
    """Documents on three themes, with common words, and with misspellings that are in one document each."""
    rng = np.random.default_rng(seed)
    texts, themes, wrong = [], [], 0
    for _ in range(documents):
        shares = rng.dirichlet([0.15] * len(THEMES))
        themes.append(list(THEMES)[int(shares.argmax())])
        words = []
        for _ in range(rng.integers(40, 80)):
            kind = rng.random()
            if kind < typos:
                words.append(f"xq{chr(97 + wrong % 26)}{chr(97 + wrong // 26 % 26)}{chr(97 + wrong // 676)}")
                wrong += 1
            elif kind < 0.5:
                words.append(rng.choice(COMMON))
            else:
                words.append(rng.choice(THEMES[rng.choice(list(THEMES), p=shares)].split()))
        texts.append(" ".join(words).capitalize() + ".")
    return texts, themes


def theme_of(word):
    return next((theme for theme, words in THEMES.items() if word in words.split()), None)


def assert_themes(topics):
    """Each theme has its topic: the anchor and the words behind it are words of the theme."""
    found = [theme_of(topic["anchor"]) for topic in topics]
    assert sorted(map(str, found)) == sorted(THEMES)
    for theme, topic in zip(found, topics, strict=True):
        assert {theme_of(word) for word in list(topic["words"])[:5]} == {theme}


def run(sepnmf_says, *words):
    code, out, err = sepnmf_says("topics", *words, "--json")
    assert code == 0, err
    return json.loads(out), err


def table(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# Functions.


def test_words_are_counted():
    texts = ["The sea, the SKY!", "l'été d'Anna 2004 x 3g don't", ""]
    counts, words = vectorize(iter(texts))
    assert isinstance(counts, sparse.csr_array)
    assert words == ("anna", "don", "sea", "sky", "the", "été")
    for text, row in zip(texts, counts.toarray(), strict=True):
        expected = Counter(w for w in re.findall(r"[^\W\d_]\w+", text.lower()) if w in words)
        assert Counter(dict(zip(words, row.tolist(), strict=True))) == expected
    with pytest.raises(ValueError, match="no words of two letters"):
        vectorize(["1 2 3", "a b"])


@pytest.mark.parametrize(
    ("n", "options", "expected"),
    [
        (2225, {}, (12, 1112)),
        (1000, {}, (5, 500)),
        (1001, {}, (6, 500)),
        (100, {}, (5, 50)),
        (99, {}, (2, 49)),
        (200, {"min_df": 1, "max_df": 1.0}, (1, 200)),
        (200, {"min_df": 0.011, "max_df": 7}, (3, 7)),
        (200, {"min_df": np.int64(3), "max_df": np.float64(0.1)}, (3, 20)),
    ],
)
def test_limits_are_numbers_of_documents_or_fractions(n, options, expected):
    assert document_limits(n, **options) == expected


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.5, "5", True, None, float("nan")])
def test_other_limits_are_refused(value):
    if value is not None:
        with pytest.raises(ValueError, match=r"^min_df must be a number of documents, such as 5, or"):
            document_limits(100, min_df=value)
        with pytest.raises(ValueError, match=r"^max_df must be"):
            used_words(np.ones((3, 3)), max_df=value)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_rare_common_and_stop_words_are_not_used(kind):
    counts = np.zeros((10, 5))
    for word, documents in enumerate([1, 2, 5, 6, 3]):
        counts[:documents, word] = word + 1
    found = used_words(kind(counts), "abcde", min_df=2, max_df=0.5, stop_words=["e"])
    assert found.tolist() == [False, True, True, False, False]


def test_english_is_recognised():
    for text, expected in ((ENGLISH, True), (GERMAN, False), (FRENCH, False)):
        assert looks_english(*vectorize([text])) == expected
    assert {"the", "and", "don", "ve"} <= stop_words_of("english")
    with pytest.raises(ValueError, match="must be 'english', got 'german'"):
        stop_words_of("german")


def test_shares_of_topics_are_those_with_which_documents_were_drawn():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(200, 0.1), 4)
    shares = rng.dirichlet(np.full(4, 0.5), 300)
    counts = np.stack([rng.multinomial(2000, chances) for chances in shares @ topics])
    found = document_topics(sparse.csr_array(counts), topics)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.abs(found - shares).max() < 0.1
    assert np.abs(found - shares).mean() < 0.02
    counts[0] = 0
    assert not document_topics(counts, topics)[0].any()


def test_top_documents_are_those_with_the_largest_share_and_then_the_longest():
    shares = np.array([[1.0, 0.0], [1.0, 0.0], [0.4, 0.6], [0.9, 0.1], [1.0, 0.0], [0, 0]])
    counts = sparse.csr_array(np.array([[50], [60], [50], [50], [2], [0]]))
    assert top_documents(counts, shares) == [[(1, 1.0), (0, 1.0), (3, 0.9), (2, 0.4)], [(2, 0.6), (3, 0.1)]]


# Misspellings.


def test_anchors_are_words_and_not_misspellings(sepnmf_says):
    """Counts as they come: words in one document have the co-occurrences of a topic of their own."""
    counts, words = vectorize(corpus()[0])
    io.mmwrite("counts.mtx", sparse.coo_array(counts))
    Path("words.txt").write_text("\n".join(words))
    content, err = run(sepnmf_says, "counts.mtx", "--vocab", "words.txt", "-r", 3)
    assert_themes(content["topics"])
    used = sum(theme_of(word) is not None for word in words)
    said = f"{len(words):,} words, {used} are used: those that are in 5 to 150 of 300 documents; "
    assert f"{said}--min-df and --max-df change that." in err
    assert content["left_out"][0].startswith(said)
    assert content["columns"] == used
    content, err = run(
        sepnmf_says, "counts.mtx", "--vocab", "words.txt", "-r", 3, "--min-df", 1, "--max-df", "1.0"
    )
    assert "are used" not in err
    assert content["columns"] == len(words)


def test_words_that_are_no_candidates_are_named(sepnmf_says):
    texts = ["the sea and the sky"] * 3 + ["the sea the boat and mast"] * 3 + ["the zebra"]
    Path("news.txt").write_text("\n".join(texts))
    content, _ = run(sepnmf_says, "news.txt", "-r", 2, "--max-df", 4)
    said = content["left_out"][1]
    assert said.startswith("No candidates for anchor words: 1 in fewer than 2 documents (zebra); ")
    assert "; 1 in more than 4 (sea); " in said
    assert said.endswith("2 stop words (the, and).")


# Many words.


def test_many_words_are_projected_and_the_topics_are_the_same(sepnmf_says, monkeypatch):
    """With 24 rows for 30 words the topics are of the same themes; with 30 rows the answer is the same."""
    counts, words = vectorize(corpus()[0])
    io.mmwrite("counts.mtx", sparse.coo_array(counts))
    Path("words.txt").write_text("\n".join(words))
    command = ("counts.mtx", "--vocab", "words.txt", "-r", 3, "--report")
    exact, err = run(sepnmf_says, *command)
    assert "projected" not in err
    monkeypatch.setattr("sepnmf.cli._topics.EXACT_WORDS", 20)
    for rows in (24, 30):
        monkeypatch.setattr("sepnmf.text._cooccurrence.PROJECTED_ROWS", rows)
        found, err = run(sepnmf_says, *command, "--out", f"{rows}")
        said = f"words are projected at random: {rows} rows stand for those of 30 words."
        assert f"The co-occurrences of more than 20 {said}" in err
        assert said in " ".join(found["assumptions"])
        assert said in Path(f"{rows}/report.html").read_text()
        assert (found["rows"], found["columns"]) == (exact["rows"], exact["columns"]) == (30, 30)
        assert_themes(found["topics"])
    for topic, with_all in zip(found["topics"], exact["topics"], strict=True):
        assert topic["anchor"] == with_all["anchor"]
        assert topic["words"] == pytest.approx(with_all["words"], abs=1e-8)
        assert [d["row"] for d in topic["documents"]] == [d["row"] for d in with_all["documents"]]
    assert found["fit"] == pytest.approx(exact["fit"])


@pytest.mark.parametrize("method", ["spa", "snpa", "xray", "vca"])
def test_other_methods_choose_among_projected_words(sepnmf_says, monkeypatch, method):
    monkeypatch.setattr("sepnmf.cli._topics.EXACT_WORDS", 20)
    Path("news.txt").write_text("\n".join(corpus()[0]))
    content, _ = run(sepnmf_says, "news.txt", "-r", 3, "--method", method)
    assert len(content["topics"]) == 3


def test_a_method_that_needs_all_entries_says_so_in_one_line(sepnmf_says, monkeypatch):
    monkeypatch.setattr("sepnmf.cli._topics.EXACT_WORDS", 20)
    Path("news.txt").write_text("\n".join(corpus()[0]))
    code, _, err = sepnmf_says("topics", "news.txt", "-r", 3, "--method", "merit")
    assert code == 2
    assert "are a random projection, and this method needs their entries" in err.strip().splitlines()[-1]


# Texts.


def test_a_folder_of_texts(sepnmf_says):
    texts, themes = corpus()
    for number, (text, theme) in enumerate(zip(texts, themes, strict=True)):
        path = Path("news", theme, f"{number:03}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path("news", "notes.md").write_text("Not a document.")
    content, err = run(sepnmf_says, "news", "-r", 3, "--report")
    assert_themes(content["topics"])
    assert "The text looks English: stop words are left out; --stop-words none keeps them." in err
    for topic in content["topics"]:
        assert len(topic["documents"]) == 5
        assert {document["name"].split("/")[0] for document in topic["documents"]} == {
            theme_of(topic["anchor"])
        }
    rows = table("news-topics/documents.csv")
    assert [row["name"] for row in rows[:5]] == [d["name"] for d in content["topics"][0]["documents"]]
    assert list(rows[0]) == ["topic", "anchor", "row", "name", "share"]
    assert {row["anchor"] for row in table("news-topics/topics.csv")} == {
        t["anchor"] for t in content["topics"]
    }
    assert content["topics"][0]["documents"][0]["name"] in Path("news-topics/report.html").read_text()


def test_a_file_with_one_document_per_line(sepnmf_says):
    texts, themes = corpus()
    Path("news.txt").write_text("\n\n".join(texts))
    content, _ = run(sepnmf_says, "news.txt", "-r", 3)
    assert_themes(content["topics"])
    first = content["topics"][0]["documents"][0]
    assert themes[first["row"]] == theme_of(content["topics"][0]["anchor"])
    line, words = first["name"].removeprefix("line ").split(": ")
    assert int(line) == 2 * first["row"] + 1
    assert texts[first["row"]].startswith(words.removesuffix(" …"))


@pytest.mark.parametrize(("separator", "encoding"), [(",", "utf-8"), (";", "cp1252"), ("\t", "utf-16")])
def test_a_column_of_a_table(sepnmf_says, separator, encoding):
    texts, _ = corpus()
    texts[0] = "A quoted, multi-line;\ntext\twith é. " * 9000  # longer than csv's default limit
    frame = pd.DataFrame({"id": range(len(texts)), "größe; Text": texts})
    frame.to_csv("news.csv", index=False, sep=separator, encoding=encoding)
    content, _ = run(sepnmf_says, "news.csv", "--text-column", "größe; Text", "-r", 3)
    assert_themes(content["topics"])
    assert content["variable"] == "größe; Text"
    code, _, err = sepnmf_says("topics", "news.csv", "--text-column", "body", "-r", 3)
    assert code == 2
    assert err.startswith("news.csv has no column 'body' but 'id")


def test_documents_of_a_table_are_as_pandas_reads_them(tmp_path):
    texts = ["one, two", 'say "three"', "four\nfive", "=six"]
    pd.DataFrame({"text": texts, "n": range(4)}).to_csv(tmp_path / "a.tsv", sep="\t", index=False)
    found = list(read_texts(tmp_path / "a.tsv", "text"))
    assert [text for _, text in found] == texts == pd.read_csv(tmp_path / "a.tsv", sep="\t")["text"].tolist()
    assert [name for name, _ in found][2] == "row 3: four five"


def test_other_languages_keep_all_words_and_that_is_said(sepnmf_says):
    texts, _ = corpus()
    foreign = [re.sub(rf"\b({'|'.join(COMMON)})\b", r"\1q", text.lower()) for text in texts]
    Path("news.txt").write_text("\n".join(foreign))
    content, err = run(sepnmf_says, "news.txt", "-r", 3)
    assert "The text does not look English: no stop words are left out (--stop-words FILE)." in err
    assert_themes(content["topics"])


def test_stop_words_can_be_chosen(sepnmf_says):
    texts, _ = corpus()
    Path("news.txt").write_text("\n".join(texts))
    for given, used in (("english", False), ("none", True), ("mine.txt", True)):
        Path("mine.txt").write_text("goalkeeper\n")
        options = ("--max-df", "1.0", "--words", 100)
        content, _ = run(sepnmf_says, "news.txt", "-r", 3, "--stop-words", given, *options)
        words = {word for topic in content["topics"] for word in topic["words"]}
        assert ("the" in words) == used
        assert ("goalkeeper" in words) == (given != "mine.txt")


# Counts with names.


def test_counts_with_names_need_no_vocabulary(sepnmf_says):
    counts, words = vectorize(corpus()[0])
    labels = [f"document {i}" for i in range(counts.shape[0])]
    frame = pd.DataFrame(counts.toarray(), columns=words, index=labels)
    frame.to_csv("a.csv", sep=";")
    frame.to_parquet("b.parquet")
    obs, var = pd.DataFrame(index=labels), pd.DataFrame(index=list(words))
    anndata.AnnData(sparse.csr_array(counts.astype("f4")), obs=obs, var=var).write_h5ad("c.h5ad")
    for name in ("a.csv", "b.parquet", "c.h5ad"):
        content, _ = run(sepnmf_says, name, "-r", 3)
        assert_themes(content["topics"])
        document = content["topics"][0]["documents"][0]
        assert document["name"] == f"document {document['row']}"


def test_documents_of_counts_can_be_named(sepnmf_says):
    counts, words = vectorize(corpus()[0])
    sparse.save_npz("counts.npz", sparse.csr_array(counts.T))  # words × documents
    Path("words.txt").write_text("\n".join(words))
    Path("documents.txt").write_text("\n".join(f"no. {i}" for i in range(counts.shape[0])))
    content, _ = run(sepnmf_says, "counts.npz", "--vocab", "words.txt", "--names", "documents.txt", "-r", 3)
    document = content["topics"][0]["documents"][0]
    assert document["name"] == f"no. {document['row']}"


# What is refused.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("news.txt", "--min-df", "often"),
            "--min-df must be a number of documents, such as 5, or a fraction",
        ),
        (("news.txt", "--max-df", "0"), "--max-df must be a number of documents, such as 5, or a fraction"),
        (
            ("news.txt", "--min-df", "301"),
            "0 of .* words are in 301 to 150 of 300 documents, and 3 are needed",
        ),
        (("news.txt", "--stop-words", "none.txt"), "there is no file none.txt"),
        (("folder",), "folder contains no .txt file"),
        (("folder", "--vocab", "news.txt"), "--vocab is for word counts, and folder contains texts: omit it"),
        (("news.csv",), r"news\.csv has columns of text; --text-column NAME reads a column of texts"),
        (("news.csv", "--text-column", "x", "--variable", "y"), "--variable is for word counts"),
        (("news.txt", "--text-column", "x"), r"A column of texts is in a \.csv or \.tsv file"),
        (("ragged.csv", "--text-column", "text"), r"ragged\.csv has 3 cell\(s\) in line 2, expected 2"),
        (("numbers.txt",), r"numbers\.txt contains no words of two letters or more"),
        (("counts.npy",), r"counts\.npy has no names of words: give a list of them with --vocab FILE"),
        (("binary.txt",), r"binary\.txt contains control characters: it is not a text file"),
        (("mixed",), r"b\.txt contains control characters: it is not a text file"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(sepnmf_says, words, message):
    texts, _ = corpus()
    Path("news.txt").write_text("\n".join(texts))
    Path("news.csv").write_text("id,text\n1,some words\n2,other words\n")
    Path("ragged.csv").write_text("id,text\n1,some, words\n")
    Path("numbers.txt").write_text("1 2 3\n4 5 6\n")
    Path("binary.txt").write_bytes(bytes(range(256)))
    Path("folder").mkdir()
    Path("mixed").mkdir()
    Path("mixed/a.txt").write_text("a text")
    Path("mixed/b.txt").write_bytes(bytes(100))
    np.save("counts.npy", np.ones((30, 40)))
    code, _, err = sepnmf_says("topics", *words, "-r", 3)
    assert code == 2
    assert re.search(message, err.strip().splitlines()[-1])
    assert not Path(f"{Path(words[0]).stem}-topics").exists()


def test_topics_of_news_have_documents_of_one_class(sepnmf_says):
    """The BBC's articles: five topics, and the five documents of each are of one class."""
    bbc = pytest.importorskip("sepnmf.datasets").load_bbc_news
    try:
        data = bbc()
    except FileNotFoundError:
        pytest.skip("SEPNMF_DATA")
    used = used_words(data.M, min_df=100)  # few words, so that it is quick
    counts = sparse.csr_array(data.M)[:, used]
    Q = cooccurrence(counts)
    names = np.array(data.column_names)[used].tolist()
    topics = topic_words(Q, [names.index(word) for word in ("labour", "compani", "film", "club", "phone")])
    classes = [name.split(".")[0] for name in data.row_names]
    found = [{classes[i] for i, _ in top} for top in top_documents(counts, document_topics(counts, topics))]
    assert found == [{"politics"}, {"business"}, {"entertainment"}, {"sport"}, {"tech"}]


def test_an_estimated_number_of_topics_says_what_it_is_based_on(tmp_path, monkeypatch, sepnmf_says):
    monkeypatch.chdir(tmp_path)
    Path("lines.txt").write_text("\n".join(corpus()[0]) + "\n")
    code, out, err = sepnmf_says("topics", "lines.txt", "-r", "auto", "--json")
    assert code == 0, err
    said = "one more anchor word explains little more of the co-occurrences of words; it may be far below"
    assert said in err
    assert any(said in sentence for sentence in json.loads(out)["assumptions"])
    assert said not in sepnmf_says("topics", "lines.txt", "-r", 3)[2]


def test_words_whose_frequencies_have_no_finite_reciprocal():
    Q = np.array([[0.5, 0.2, 0.0], [0.2, 0.1, 1e-320], [0.0, 1e-320, 0.0]])
    topics = topic_words(sparse.csc_array(Q), np.array([0, 1]))
    np.testing.assert_allclose(topics.sum(axis=1), 1)
    assert np.isfinite(topics).all()
