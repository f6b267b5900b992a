"""Tables as text: as European spreadsheets write them, as instruments do, and what is not guessed."""

import codecs

import h5py
import numpy as np
import pandas as pd
import pytest

from sepnmf.io import read, read_names
from sepnmf.io._names import resolve_names

RNG = np.random.default_rng(0)
M = RNG.random((5, 7)) * 100
ROWS, COLUMNS = [f"Zürich, {i}" for i in range(5)], [f"größe {j}; cm" for j in range(7)]
SEMICOLONS = "Cells are taken to be separated by semicolons."
COMMAS = "Commas in numbers are taken as decimal commas."
LATIN = "The text is not UTF-8 and is read as Windows-1252 (Latin-1)."


def write(tmp_path, text, name="a.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a.dat", "a.asc"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes_in_any_country_is_read(tmp_path, name, delimiter, decimal, header, index):
    frame = pd.DataFrame(M, columns=COLUMNS, index=ROWS)
    frame.to_csv(tmp_path / name, sep=delimiter, decimal=decimal, header=header, index=index)
    data = read(tmp_path / name)
    np.testing.assert_array_equal(data.M, M)
    assert data.column_names == (tuple(COLUMNS) if header else ())
    assert data.row_names == (tuple(ROWS) if index else ())
    assert (COMMAS in data.assumptions) == (decimal == ",")
    default = {"a.csv": ",", "a.tsv": "\t"}.get(name)
    assert (
        any("separated" in text for text in data.assumptions) == (delimiter != default) or delimiter == "\t"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_names_are_read_in_the_encodings_of_spreadsheets(tmp_path, encoding):
    path = write(tmp_path, "größe;Übung\n1,5;2\n", encoding=encoding)
    data = read(path)
    assert data.column_names == ("größe", "Übung")
    np.testing.assert_array_equal(data.M, [[1.5, 2]])
    assert (LATIN in data.assumptions) == (encoding in ("cp1252", "latin-1"))


def test_bytes_that_windows_does_not_have_are_latin_1(tmp_path):
    assert read(write(tmp_path, b"a\x81\xe9,b\n1,2\n")).column_names == ("a\x81é", "b")


def test_big_endian_utf_16_is_read(tmp_path):
    data = read(write(tmp_path, codecs.BOM_UTF16_BE + "a,b\n1,2\n".encode("utf-16-be")))
    assert data.column_names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "expected", "rows", "columns"),
    [
        ("1,5;2,5\n3,5;4,5\n", [[1.5, 2.5], [3.5, 4.5]], (), ()),
        ("1;2,5\n3;4,5\n", [[1, 2.5], [3, 4.5]], (), ()),
        ("A;2,5\nB;4,5\n", [[2.5], [4.5]], ("A", "B"), ()),
        ("1,5\n2,5\n", [[1, 5], [2, 5]], (), ()),  # in a comma file, two cells
        ("0,5;-1,25e-3\n", [[0.5, -1.25e-3]], (), ()),
        ("id;400,5;401,5\n1;2;3\n", [[1, 2, 3]], (), ("id", "400,5", "401,5")),
        ("nm;400,5;401,5\n1;2;3\n", [[2, 3]], ("1",), ("400,5", "401,5")),
        ("400,5;401,5\n1;2\n", [[400.5, 401.5], [1, 2]], (), ()),  # not a header
        ("400,5;1\n401;2\n", [[400.5, 1], [401, 2]], (), ()),  # not an index
        ("1;2\n" * 100 + "3;4,5\n", [[1, 2]] * 100 + [[3, 4.5]], (), ()),
        ("1;2\n" * 100 + "3,5;4\n", [[1, 2]] * 100 + [[3.5, 4]], (), ()),
        ('"1,5","2"\n"3","4,5"\n', [[1.5, 2], [3, 4.5]], (), ()),  # quoted decimal commas
        ('x,y\n"v1.2, a","2,5"\nb,"4,5"\n', [[2.5], [4.5]], ("v1.2, a", "b"), ("y",)),
        ("sep=;\na;b\n1,5;2\n", [[1.5, 2]], (), ("a", "b")),
        ("sep=;\n1;2\n", [[1, 2]], (), ()),
        ("SEP=\t\n1\t2\n", [[1, 2]], (), ()),
        ("1,234;5\n1,2345;6\n", [[1.234, 5], [1.2345, 6]], (), ()),
        ("0,234;5\n", [[0.234, 5]], (), ()),
        ("1.5;2\n3;4\n", [[1.5, 2], [3, 4]], (), ()),
        ("1\n2\n", [[1], [2]], (), ()),
        ("id.1;x.y\nr.1;2,5\n", [[2.5]], ("r.1",), ("x.y",)),
    ],
)
def test_delimiter_and_decimal_separator_are_detected(tmp_path, text, expected, rows, columns):
    data = read(write(tmp_path, text))
    np.testing.assert_array_equal(data.M, expected)
    assert data.row_names == rows
    assert data.column_names[-1:] == columns[-1:]


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("1,2\n3,4\n", ()),
        ("1;2\n3;4\n", (SEMICOLONS,)),
        ("1,5;2\n3;4\n", (SEMICOLONS, COMMAS)),
        ("sep=;\n1,5;2\n", (COMMAS,)),
    ],
)
def test_what_was_detected_is_said_if_it_is_not_the_default(tmp_path, text, assumed):
    assert read(write(tmp_path, text)).assumptions == assumed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,234;5,678\n", 'may be decimal commas or separate thousands: give decimal=","'),
        ("1.234;5.678\n", 'may be decimal points or separate thousands: give decimal="."'),
        ('"1,234","5,678"\n', "may be decimal commas or separate thousands"),
        ("1.234,5;6\n1,5;2\n", r"has '1\.234,5' in line 1, cell 1: .* without separators of thousands"),
        ("a;b\n1 234,5;6\n", r"has '1 234,5' in line 2, cell 1: .* without separators of thousands"),
        ("1'234;6\n5;6\n", r"has \"1'234\" in line 1, cell 1: .* without separators of thousands"),
        ("1,5;6\n1.234,5;2\n", r"has '1\.234,5' in line 2, cell 1: .* without separators of thousands"),
        ("1,5;2.5\n3,5;4,5\n", r"has '2\.5' in line 1, cell 2: expected a decimal comma"),
        ("1;2\n1,5;2.5\n3,5;4,5\n", r"has both '4,5' and '2\.5'"),
        ("x\n1,5\n2,5\n", r"has 2 cell\(s\) in line 2, expected 1"),
    ],
)
def test_what_may_mean_two_things_is_refused_in_one_sentence(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"^a\.csv .*(?:{message})[^\n]*\.$"):
        read(write(tmp_path, text))


def test_two_possible_delimiters_are_refused(tmp_path):
    path = write(tmp_path, "x 1,2\ny 3,4\n", "a.txt")  # x with 1.2, or x 1 with 2?
    with pytest.raises(ValueError, match=r"^a\.txt may be separated by spaces or by commas: put names"):
        read(path)


def test_the_decimal_separator_can_be_given(tmp_path):
    path = write(tmp_path, "1,234;5,678\n")
    np.testing.assert_array_equal(read(path, decimal=",").M, [[1.234, 5.678]])
    path = write(tmp_path, "1.234;5.678\n")
    np.testing.assert_array_equal(read(path, decimal=".").M, [[1.234, 5.678]])


@pytest.mark.parametrize("suffix", [".txt", ".dat", ".asc"])
def test_what_numpy_writes_as_text_is_read(tmp_path, suffix):
    np.savetxt(tmp_path / f"a{suffix}", M, header="a comment of any length\nand another")
    data = read(tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(data.M, M)
    assert (data.column_names, data.assumptions) == ((), ())


@pytest.mark.parametrize(
    ("text", "expected", "rows", "columns"),
    [
        ("  1   2\n 3\t4 \n", [[1, 2], [3, 4]], (), ()),
        ("# x\n\n1 2 # first\n# y\n3 4\n", [[1, 2], [3, 4]], (), ()),
        ("id a b\n400 1 2\n", [[400, 1, 2]], (), ("id", "a", "b")),
        ("nm a b\n400 1 2\n", [[1, 2]], ("400",), ("a", "b")),
        (
            'name a "b c"\n"first row" 1 2\nsecond 3 4\n',
            [[1, 2], [3, 4]],
            ("first row", "second"),
            ("a", "b c"),
        ),
        ("first row\t5\t6\nsecond row\t3\t4\n", [[5, 6], [3, 4]], ("first row", "second row"), ()),
        ("1, 2, 3\n4, 5, 6\n", [[1, 2, 3], [4, 5, 6]], (), ()),
        ("1,5 2,5\n3,5 4,5\n", [[1.5, 2.5], [3.5, 4.5]], (), ()),
        ("x\n1,5\n2,5\n", [[1.5], [2.5]], (), ("x",)),
        ("400\n500\n", [[400], [500]], (), ()),
    ],
)
def test_plain_text_is_read_as_instruments_write_it(tmp_path, text, expected, rows, columns):
    data = read(write(tmp_path, text, "a.txt"))
    np.testing.assert_array_equal(data.M, expected)
    assert (data.row_names, data.column_names) == (rows, columns)


def test_the_command_line_says_what_was_detected_and_how_to_decide(sepnmf_says, tmp_path):
    write(tmp_path, "a;b;c\n1,5;0;0,75\n0;2,5;1,25\n", "a.csv")
    code, out, err = sepnmf_says("select", "a.csv", "-r", 2)
    assert code == 0
    assert SEMICOLONS in err
    assert COMMAS in err
    write(tmp_path, "1,234;5,678\n3,456;1,234\n", "b.csv")
    code, out, err = sepnmf_says("select", "b.csv", "-r", 1)
    assert (code, out) == (2, "")
    assert "give --decimal , for the former" in err
    assert sepnmf_says("select", "b.csv", "-r", 1, "--decimal", ",")[0] == 0


def test_dat_beside_an_envi_header_is_an_image(tmp_path):
    np.arange(24, dtype="f4").tofile(tmp_path / "a.dat")
    fields = "samples = 3\nlines = 4\nbands = 2\ndata type = 4\ninterleave = bsq\nbyte order = 0\n"
    (tmp_path / "a.hdr").write_text(f"ENVI\n{fields}header offset = 0\nfile type = ENVI Standard\n")
    assert read(tmp_path / "a.dat").image_shape == (4, 3)


# A first column of numbers.


@pytest.mark.parametrize(
    ("heading", "unit"),
    [
        ("wavelength_nm", "nm"),
        ("Wellenlänge/nm", "nm"),
        ("Wavelengths [µm]", "µm"),
        ("WAVELENGTH (nm)", "nm"),
        ("wavelength", ""),
        ("λ in nm", "nm"),
        ("λ / nm", "nm"),
        ("um", "um"),
        ("µm", "µm"),
        ("\u03bcm", "\u03bcm"),
        ("Raman shift (cm-1)", None),
        ("Wellenzahl", None),
        ("cm^-1", None),
        ("m/z", None),
        ("retention_time_min", None),
        ("ppm", None),
        ("2Theta [°]", None),
    ],
)
def test_a_first_column_whose_heading_names_an_axis_is_no_sample(tmp_path, heading, unit):
    data = read(write(tmp_path, f"{heading};A;B\n400;1;2\n412,5;3;1\n"))
    np.testing.assert_array_equal(data.M, [[1, 2], [3, 1]])
    assert (data.row_names, data.column_names) == (("400", "412,5"), ("A", "B"))
    assert data.wavelengths == (() if unit is None else (400.0, 412.5))
    assert data.wavelength_unit == (unit or "")
    said = f"The first column, {heading!r}, is taken as names of the rows; --no-index makes it data."
    assert said in data.assumptions
    given = read(write(tmp_path, f"{heading};A;B\n400;1;2\n412,5;3;1\n"), index=True)
    assert given.wavelengths == data.wavelengths
    assert said not in given.assumptions
    assert read(tmp_path / "a.csv", index=False).M.shape == (2, 3)


@pytest.mark.parametrize("heading", ["id", "x", "timer", "lambda phage", "energy drink", "A/nm"])
def test_a_first_column_with_another_heading_is_data(tmp_path, heading):
    data = read(write(tmp_path, f"{heading},A\n400,1\n500,3\n"))
    assert (data.M.shape, data.assumptions) == ((2, 2), ())


@pytest.mark.parametrize("first", [[400, 402, 404.001, 406, 408], [9, 8, 7, 6, 5]])
def test_a_first_column_of_equal_steps_names_the_rows(tmp_path, first):
    other = RNG.random((5, 2))
    np.savetxt(tmp_path / "a.csv", np.column_stack([first, other]), delimiter=",")
    data = read(tmp_path / "a.csv")
    np.testing.assert_array_equal(data.M, other)
    assert data.assumptions == ("The first column is taken as names of the rows; --no-index makes it data.",)
    np.savetxt(tmp_path / "a.csv", np.column_stack([first, other])[:4], delimiter=",")  # too few
    assert read(tmp_path / "a.csv").M.shape == (4, 3)
    np.savetxt(tmp_path / "a.csv", np.column_stack([first, other, np.arange(5)]), delimiter=",")
    assert read(tmp_path / "a.csv").M.shape == (5, 4)


def test_a_first_column_without_a_heading_is_read_as_before(tmp_path):
    data = read(write(tmp_path, ",A\n400,1\n500,3\n"))
    assert (data.row_names, data.assumptions) == (("400", "500"), ())
    assert read(write(tmp_path, "400\n401\n402\n403\n404\n405\n", "a.txt")).M.shape == (6, 1)


# Cells without a number.


@pytest.mark.parametrize("gap", ["", "NA", "n.d.", "NaN", "n/a"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_columns_with_missing_cells_are_left_out_if_it_is_asked_for(tmp_path, gap, decimal):
    frame = pd.DataFrame(M, columns=list("abcdefg"), index=ROWS)
    frame.iloc[2, 3] = frame.iloc[4, 6] = np.nan
    frame.to_csv(tmp_path / "a.csv", sep=";", decimal=decimal, na_rep=gap)
    data = read(tmp_path / "a.csv", nodata="nan")
    np.testing.assert_array_equal(data.M, frame)
    assert data.row_names == tuple(ROWS)
    np.testing.assert_array_equal(data.mask, [1, 1, 1, 0, 1, 1, 0])
    assert data.left_out == ("2 of 7 columns are left out: nodata (NaN).",)
    if gap != "NaN":
        with pytest.raises(
            ValueError, match=rf"has '{gap}' in line 4, cell 5: .* --nodata nan .* missing cells"
        ):
            read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "text",
    [
        "a;b;;\nx;1,5;;\ny;2,5;;\n;;;\n",
        "a;b\nx;1,5;;\ny;2,5;;\n",
        "a;b;;\nx;1,5\ny;2,5\n",
        ";;\na;b;\n;;\nx;1,5; \ny;2,5;\n",
    ],
)
def test_blank_columns_and_lines_that_spreadsheets_add_are_dropped(tmp_path, text):
    data = read(write(tmp_path, text))
    np.testing.assert_array_equal(data.M, [[1.5], [2.5]])
    assert (data.row_names, data.column_names) == (("x", "y"), ("b",))


def test_a_last_column_with_one_number_is_not_dropped(tmp_path):
    path = write(tmp_path, "a,b,\n1,2,\n3,4,5\n")
    with pytest.raises(ValueError, match=r"has '' in line 2, cell 3: expected a number; pass --nodata nan"):
        read(path)
    assert read(path, nodata="nan").column_names == ("a", "b", "")


def test_a_column_of_text_is_left_out_and_a_word_elsewhere_is_not_missing(tmp_path):
    path = write(tmp_path, "s,who,x\np,Anna,1\nq,Ben,2\n")
    data = read(path, nodata="nan")
    assert (data.row_names, data.column_names) == (("p", "q"), ("x",))
    assert data.left_out == ("1 of 2 columns are left out: they contain text or dates ('who').",)
    path = write(tmp_path, "s,x,y\np,low,1\nq,3,2\n")
    with pytest.raises(ValueError, match=r"has 'low' in line 2, cell 2: expected a number\.$"):
        read(path, nodata="nan")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("n,x,class,y,site\np,1.5,u,2,\nq,3,v,4,A\n", "a.csv"),
        ("n;x;class;y;site\np;1,5;u;2;\nq;3;v;4;A\n", "a.csv"),
        ('n,x,class,y,site\np,1.5,"u, or\nt",2,\nq,3,v,4,A\n', "a.csv"),
        ("n\tx\tclass\ty\tsite\np\t1.5\tu\t2\tNA\nq\t3\tv\t4\tA\n", "a.tsv"),
        ("n x class y site\np 1.5 u 2 B\nq 3 v 4 A\n", "a.txt"),
    ],
)
def test_columns_of_text_are_left_out_in_every_dialect(tmp_path, text, name):
    data = read(write(tmp_path, text, name))
    np.testing.assert_array_equal(data.M, [[1.5, 2], [3, 4]])
    assert (data.row_names, data.column_names) == (("p", "q"), ("x", "y"))
    assert data.left_out == ("2 of 4 columns are left out: they contain text or dates ('class', 'site').",)


@pytest.mark.parametrize("cells", [("5 %", "6 %"), ("€ 5", "€ 6"), ("True", "False"), ("2020-01-02", "x")])
def test_text_that_may_be_a_number_is_refused_unless_it_is_omitted(tmp_path, cells):
    path = write(tmp_path, "n,x,z\np,1,{}\nq,2,{}\n".format(*cells))
    with pytest.raises(ValueError, match=r"in line 2, cell 3: .* leave it out with --omit"):
        read(path)
    data = read(path, omit="z")
    np.testing.assert_array_equal(data.M, [[1], [2]])
    assert data.left_out == ("1 of 2 columns are left out: --omit ('z').",)


def test_a_first_line_that_may_be_names_or_data_is_not_guessed_from_columns_of_text(tmp_path):
    path = write(tmp_path, "n,400,500,class\np,1,2,u\nq,3,4,v\n")
    with pytest.raises(ValueError, match=r"its first line may have names or data: give --header or"):
        read(path)
    assert read(path, header=True).column_names == ("400", "500")
    data = read(path, header=False)
    np.testing.assert_array_equal(data.M, [[400, 500], [1, 2], [3, 4]])
    assert data.left_out == ("1 of 3 columns are left out: they contain text or dates ('4').",)


def test_text_does_not_hide_the_delimiter(tmp_path):
    path = write(tmp_path, "p;u 1;70,37\nq;#3;46,40\n")
    with pytest.raises(ValueError, match=r"has '#3' in line 2, cell 2: .* leave it out with --omit"):
        read(path)
    with pytest.raises(ValueError, match=r"has 'u 1' in line 1, cell 2: .* remove it"):
        read(path, header=False)
    path = write(tmp_path, "p;u;70,37\nq;v;46,40\n")
    np.testing.assert_array_equal(read(path, header=False).M, [[70.37], [46.4]])


def test_a_first_line_that_looks_like_wavelengths_and_is_taken_as_data_is_named(tmp_path):
    said = "The first line is taken as data; if it has the names of the columns, pass --header."
    path = write(tmp_path, "n,400,410,425\np,3,2,6\nq,3,4,1\n")
    assert read(path).assumptions == (said,)
    assert read(path, header=False).assumptions == ()
    assert read(path, header=True).column_names == ("400", "410", "425")
    assert read(write(tmp_path, "n,4,4,5\np,3,2,6\nq,3,4,1\n")).assumptions == ()


def test_a_table_is_read_without_columns_that_are_omitted(tmp_path, sepnmf_says, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, "id,x,y,kind\n7,1.5,2,1\n5,3,4,2\n8,5,1,\n")
    data = read(path, omit=["kind", "id"])
    np.testing.assert_array_equal(data.M, [[1.5, 2], [3, 4], [5, 1]])
    assert (data.row_names, data.column_names) == ((), ("x", "y"))
    assert data.left_out == ("2 of 4 columns are left out: --omit ('id', 'kind').",)
    code, _, err = sepnmf_says("select", "a.csv", "-r", 2, "-m", "spa", "--omit", "id", "--omit", "kind")
    assert code == 0
    assert "2 of 4 columns are left out: --omit" in err
    code, _, err = sepnmf_says("select", "a.csv", "-r", 2, "--omit", "z")
    assert (code, err) == (2, "--omit names the column 'z', and a.csv has none of this name.\n")
    np.save("a.npy", data.M)
    code, _, err = sepnmf_says("select", "a.npy", "-r", 2, "--omit", "z", "--out", "o")
    assert code == 2
    assert err.startswith("--omit is for .csv, ")


# What is no table, or not from its first line on.

SPECTRA = "nm;A;B\n400,5;1;2\n401,5;3;4\n403,5;5;1\n"


@pytest.mark.parametrize(
    ("preamble", "line"),
    [
        ("Gerät: F-4500\nDatum: 12.03.2024\n\n", 4),
        ("Device;F-4500;\nDate;12.03.2024;\n;;\n", 4),
        ("Device;F-4500\n", 2),
        ("Device;F-4500;USB\n", 2),
        ("Number of spectra;2;;\n", 2),
    ],
)
def test_lines_above_a_table_are_refused_with_the_line_at_which_it_begins(tmp_path, preamble, line):
    expected = rf"^a\.csv seems to have a table from line {line} on: remove the lines above it\.$"
    for nodata in (None, "nan"):
        with pytest.raises(ValueError, match=expected):
            read(write(tmp_path, preamble + SPECTRA), nodata=nodata)


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_a_wrong_cell_does_not_make_a_preamble_of_the_lines_above(tmp_path, place):
    lines = (SPECTRA + "404;1;1\n405;2;3\n").splitlines()
    lines[place] = lines[place].rpartition(";")[0] + ";five"
    with pytest.raises(ValueError, match=rf"^a\.csv has 'five' in line {place + 1}, cell 3: expected"):
        read(write(tmp_path, "\n".join(lines)))


@pytest.mark.parametrize("suffix", [".xlsx", ".XLS", ".ods"])
def test_spreadsheets_are_refused_with_what_to_do(tmp_path, suffix):
    with pytest.raises(ValueError, match=r"is a spreadsheet: save the sheet as CSV\.$"):
        read(write(tmp_path, b"PK\x03\x04", f"a{suffix}"))


# Names.


def test_names_come_from_a_list_or_from_the_first_column_of_a_table(tmp_path):
    file = tmp_path / "M.npy"
    names = ("größe", "b", "c")
    assert resolve_names(write(tmp_path, "größe\nb\nc\n", "n.txt"), file, 3) == names
    assert resolve_names(write(tmp_path, "größe\nb\nc\n", "n.txt", "cp1252"), file, 3) == names
    assert resolve_names(str(write(tmp_path, "größe;1\nb;2\nc;3\n", "n.csv")), file, 3) == names
    assert resolve_names(write(tmp_path, "name;x\ngröße;1\nb;2\nc;3\n", "n.csv"), file, 3) == names
    assert read_names(write(tmp_path, "größe\nb\n", "n.txt", "utf-16")) == ("größe", "b")


def test_names_come_from_a_variable_of_the_same_file(tmp_path):
    np.savez(tmp_path / "M.npz", M=M, bands=np.array(["x", "ÿ"]), numbers=np.arange(2), pair=np.ones((2, 2)))
    assert resolve_names("bands", tmp_path / "M.npz", 2) == ("x", "ÿ")
    assert resolve_names("numbers", tmp_path / "M.npz", 2) == ("0", "1")
    with h5py.File(tmp_path / "M.nc", "w") as content:
        content["group/bands"] = ["x", "ÿ"]
        content["fixed"] = np.array([b"x", b"y"])
        content["M"] = M
        content["link"] = h5py.SoftLink("/fixed")
    assert resolve_names("group/bands", tmp_path / "M.nc", 2) == ("x", "ÿ")
    assert resolve_names("fixed", tmp_path / "M.nc", 2) == ("x", "y")
    for name, wanted in (
        ("M.npz", "pair"),
        ("M.nc", "M"),
        ("M.nc", "link"),
        ("M.nc", "group"),
        ("M.npy", "x"),
    ):
        with pytest.raises(ValueError, match=rf"There is no file {wanted}, and {name} has no such variable"):
            resolve_names(wanted, tmp_path / name, 2)


def test_a_wrong_number_of_names_is_refused_with_both_numbers(tmp_path):
    path = write(tmp_path, "a\nb\nc\n", "n.txt")
    with pytest.raises(ValueError, match=r"^n\.txt has 3 names, but M\.npy needs 5\.$"):
        resolve_names(path, tmp_path / "M.npy", 5)
    np.savez(tmp_path / "M.npz", bands=np.array(["x", "y"]))
    with pytest.raises(
        ValueError, match=r"^The variable 'bands' of M\.npz has 2 names, but M\.npz needs 5\.$"
    ):
        resolve_names("bands", tmp_path / "M.npz", 5)


def test_names_of_both_axes_can_be_given(tmp_path):
    np.savez(tmp_path / "M.npz", M=M, bands=np.array(list("abcde")))
    write(tmp_path, "\n".join(COLUMNS), "n.txt")
    data = read(tmp_path / "M.npz", names=tmp_path / "n.txt", row_names="bands")
    assert (data.row_names, data.column_names) == (tuple("abcde"), tuple(COLUMNS))
    with pytest.raises(ValueError, match=r"^n\.txt has 7 names, but M\.npz needs 5\.$"):
        read(tmp_path / "M.npz", row_names=tmp_path / "n.txt")


@pytest.mark.parametrize("blank", [",,\n", '"","",""\n', " , , \n"])
def test_a_header_of_blank_names_is_no_header(tmp_path, blank):
    path = tmp_path / "a.csv"
    path.write_text(f"{blank}x,1,2\ny,3,4\n")
    data = read(path)
    np.testing.assert_array_equal(data.M, [[1, 2], [3, 4]])
    assert (data.row_names, data.column_names) == (("x", "y"), ())
    path.write_text(f"{blank},a,b\nx,1,2\ny,3,4\n")
    assert read(path).column_names == ("a", "b")


@pytest.mark.parametrize("cell", ["<0.01", "< 0.01", "<1e-3", ">100", "≤5", "<LOD", "<LOQ"])
@pytest.mark.parametrize("column", [0, 1])
def test_a_limit_of_detection_is_no_number(tmp_path, cell, column):
    rows = [["1", "2", "3"], ["2.5", "3", "4"], ["4", "5", "6"]]
    rows[0][column] = cell
    path = tmp_path / "a.csv"
    path.write_text("a,b,c\n" + "".join(f"{','.join(row)}\n" for row in rows))
    message = (
        rf"^a\.csv has '{cell}' in line 2, cell {column + 1}: expected a number, not a limit of detection; "
    )
    with pytest.raises(
        ValueError, match=f"{message}pass --nodata nan to leave out columns with such cells, or"
    ):
        read(path)
    data = read(path, nodata="nan")
    assert np.isnan(data.M[0, column])
    assert np.isnan(data.M).sum() == 1
    np.testing.assert_array_equal(data.mask, np.arange(3) != column)
    assert data.left_out == ("1 of 3 columns are left out: nodata (NaN).",)


def test_limits_of_detection_may_have_decimal_commas(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Probe;a;b\nx;1,5;<0,01\ny;2;3,5\n")
    np.testing.assert_array_equal(read(path, nodata="nan").M, [[1.5, np.nan], [2, 3.5]])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name,a,b\n,mg,mg\nx,1,2\ny,2,3\n", "names in line 1 and again text, such as units, in line 2: "),
        ("Title;;\nwl;a;b;\nnm;mg;mg;\n1;1,5;2;\n2;2;3,5;\n", "remove line 3 and the lines above line 2"),
    ],
)
def test_a_line_of_units_is_named(tmp_path, text, told):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=told):
        read(path)


@pytest.mark.parametrize("heading", ["wavelength_nm", "x"])
def test_a_first_column_of_a_parquet_file_that_is_an_axis_is_no_sample(tmp_path, heading):
    """As in a CSV file: by its heading, or by equal steps that no other column has."""
    spectra = np.random.default_rng(0).random((8, 3))
    frame = pd.DataFrame({heading: np.arange(400, 480, 10), "a": spectra[:, 0], "b": spectra[:, 1]})
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    frame.to_csv(tmp_path / "t.csv", index=False)
    found, text = (read(tmp_path / name) for name in ("t.parquet", "t.csv"))
    np.testing.assert_allclose(found.M, spectra[:, :2])
    assert found.column_names == text.column_names == ("a", "b")
    assert found.row_names == text.row_names
    assert found.wavelengths == text.wavelengths
    assert found.wavelength_unit == text.wavelength_unit
    assert found.assumptions == text.assumptions
    assert read(tmp_path / "t.parquet", index=False).M.shape == (8, 3)
