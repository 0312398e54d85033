"""ARX files byte for byte, lint, preview."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import HierarchyError, InfeasibleError, OutputError, UnreadableError
from shoal.hierarchies import FromTree, lint, preview, read_arx, rule_from_json, write_arx
from shoal.hierarchies.builders.explicit import parse_rows, sniff
from shoal.hierarchies.values import CodedRows
from shoal.model.hierarchy import Hierarchy


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"1;0-4;*\n2;0-4;*\n", id="plain"),
        pytest.param(b"1;0-4;*\r\n2;0-4;*\r\n", id="windows"),
        pytest.param(b"1;0-4;*\n2;0-4;*", id="no last newline"),
        pytest.param("\ufeffé;x;*\n".encode(), id="bom"),
        pytest.param(b'"a;b";x;*\n"c";x;*\n', id="odd quoting"),
        pytest.param(b"a,x,*\nb,x,*\n", id="commas"),
        pytest.param(b"a;x;*\n\nb;x;*\n", id="empty line"),
        pytest.param(b"a;x;*\r\nb;x;*\n", id="mixed line ends"),
        pytest.param(b"=cmd();x;*\n", id="formula"),
    ],
)
def test_what_is_read_is_written_byte_for_byte(tmp_path, raw):
    (tmp_path / "in.csv").write_bytes(raw)
    rule = read_arx(tmp_path / "in.csv", "c")
    write_arx(rule, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == raw
    assert rule_from_json(rule.to_json()) == rule
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "out.csv"]


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.lists(st.text(st.sampled_from('ab;,\t"\r\n é\x00'), max_size=3), min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from([";", ",", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_plain_text_is_cut_as_the_parser_cuts_it(tmp_path_factory, fields, delimiter, newline, last):
    """The short way for plain files: the rows of the parser, the same refusals, the same bytes when written."""
    text = newline.join(delimiter.join(row) for row in fields) + (newline if last else "")
    folder = tmp_path_factory.mktemp("arx")
    (folder / "h.csv").write_bytes(text.encode())
    try:
        expected = tuple(tuple(row) for row in parse_rows(text, sniff(text), "h.csv"))
        FromTree(expected)
    except (HierarchyError, UnreadableError) as refused:
        with pytest.raises(type(refused)):
            read_arx(folder / "h.csv")
        return
    rule = read_arx(folder / "h.csv")
    assert rule.rows == expected
    assert list(rule.rows[:2]) == list(expected[:2])
    assert rule.over("c", [expected[0][0]]).to_rows() == FromTree(expected).over("c", [expected[0][0]]).to_rows()
    write_arx(rule, folder / "out.csv")
    assert (folder / "out.csv").read_bytes() == text.encode()


def test_a_plain_file_makes_no_object_per_field(tmp_path):
    """Work, not time: a hundred thousand lines are checked as codes; texts appear when a row is asked for."""
    (tmp_path / "h.csv").write_text("".join(f"{i:06d};{i // 1000};*\n" for i in range(100_000)))
    rule = read_arx(tmp_path / "h.csv")
    assert isinstance(rule.rows, CodedRows)
    assert not any("labels" in vars(column) for column in rule.rows.columns)
    assert rule.rows[99_999] == ("099999", "99", "*")
    assert [c.n_labels for c in rule.rows.columns] == [100_000, 100, 1]


class TestRepeatedLines:
    """A value listed twice is refused, whether its lines are equal or not."""

    @pytest.mark.parametrize("quote", ["", '"'], ids=["plain", "quoted"])
    def test_a_line_twice(self, tmp_path, quote):
        lines = [("a", "x", "*"), ("b", "y", "*"), ("a", "x", "*"), ("a", "x", "*")]
        (tmp_path / "h.csv").write_text("".join(";".join(f"{quote}{f}{quote}" for f in line) + "\n" for line in lines))
        with pytest.raises(HierarchyError, match="2 lines of the hierarchy list a value that another line lists already"):
            read_arx(tmp_path / "h.csv")

    @pytest.mark.parametrize("other", [("a", "y", "*"), ("a", "x", "p")], ids=["lower", "upper"])
    def test_two_lines_that_differ(self, tmp_path, other):
        lines = [("b", "x", "*"), ("a", "x", "*"), other]
        (tmp_path / "h.csv").write_text("".join(";".join(line) + "\n" for line in lines))
        with pytest.raises(HierarchyError, match="1 line of the hierarchy lists a value that another line lists already"):
            read_arx(tmp_path / "h.csv")
        with pytest.raises(HierarchyError, match=r"1 line of hierarchy 'c' gives .* other parents"):
            Hierarchy.from_rows("c", lines)

    def test_a_child_twice(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,x\nb,x\na,x\n")
        with pytest.raises(HierarchyError, match=r"1 line of 't\.csv' lists a value that another line lists already"):
            FromTree.from_file(tmp_path / "t.csv")


DISEASES = "flu;lung;*\ncold;lung;*\nhiv;blood;*\n"


class TestHeaders:
    """A header is not a value: with its own root it would make the tree higher, and every distance in it smaller."""

    @pytest.mark.parametrize("header", ["disease;group;top", "x;y;z", "flue;lungs;all", "Level-0;Level-1;Level-2"])
    def test_a_first_line_with_groups_of_its_own_is_refused(self, tmp_path, header):
        (tmp_path / "h.csv").write_text(f"{header}\n{DISEASES}")
        with pytest.raises(HierarchyError, match=r"first line of 'h\.csv' looks like a header") as error:
            read_arx(tmp_path / "h.csv")
        assert header.split(";")[0] not in str(error.value)

    @pytest.mark.parametrize("header", ["value;group", "disease;group", "DISEASE ;group"])
    def test_a_heading_over_several_roots_is_refused_by_its_name(self, tmp_path, header):
        (tmp_path / "h.csv").write_text(f"{header}\nflu;lung\ncold;lung\nhiv;blood\n")
        with pytest.raises(HierarchyError, match="looks like a header"):
            read_arx(tmp_path / "h.csv", "disease")

    @pytest.mark.parametrize("text", [DISEASES, "disease;lung;*\n" + DISEASES, "a;x\nb;y\n", "a;x\nb;y\nc;z\n", "value\na\nb\n"])
    def test_values_are_not_taken_for_headers(self, tmp_path, text):
        (tmp_path / "h.csv").write_text(text)
        assert len(read_arx(tmp_path / "h.csv", "disease").rows) == text.count("\n")

    def test_a_header_of_a_child_and_parent_file(self, tmp_path):
        (tmp_path / "t.csv").write_text("disease,organ\nflu,lung\ncold,lung\n")
        with pytest.raises(HierarchyError, match=r"first line of 't\.csv' looks like a header"):
            FromTree.from_file(tmp_path / "t.csv")
        (tmp_path / "t.csv").write_text("child,parent\nflu,lung\ncold,lung\n")
        assert FromTree.from_file(tmp_path / "t.csv").height == 1


class TestOneRoot:
    def test_distances_need_one_root(self, tmp_path):
        (tmp_path / "h.csv").write_text("flu;lung\ncold;lung\nhiv;blood\n")
        with pytest.raises(HierarchyError, match="'ill' has 2 groups in its last level"):
            read_arx(tmp_path / "h.csv").check_one_root("ill")
        (tmp_path / "t.csv").write_text("flu,lung\ncold,lung\nhiv,blood\n")
        with pytest.raises(HierarchyError, match="2 groups in its last level"):
            FromTree.from_file(tmp_path / "t.csv").check_one_root("ill")
        (tmp_path / "h.csv").write_text(DISEASES)
        read_arx(tmp_path / "h.csv").check_one_root("ill")
        FromTree.of({"lung": ["flu", "cold"], "blood": ["hiv"]}).check_one_root("ill")

    def test_the_first_line_of_a_file_does_not_lower_t(self, tmp_path):
        """Issue 36.8: t was 0.2222 instead of 0.2963, and a release was signed with it."""
        rows = {"age": [1] * 3 + [2] * 6, "disease": ["flu", "flu", "hiv", *["flu", "cold", "hiv"] * 2]}
        (tmp_path / "h.csv").write_text(DISEASES)
        true = shoal.measure(rows, quasi=["age"], sensitive=["disease"], hierarchies={"disease": tmp_path / "h.csv"})
        roles = {"quasi": {"age": {"max_level": 0}}, "sensitive": {"disease": {"hierarchy": "h.csv"}}}
        closeness = {"disease": {"t": true.closeness["disease"].t - 0.01, "distance": "hierarchical"}}
        (tmp_path / "p.yml").write_text(json.dumps({"roles": roles, "require": {"k": 2, "closeness": closeness}}))
        for header in ("disease;group;top\n", "disease;group;*\n"):
            (tmp_path / "h.csv").write_text(header + DISEASES)
            with pytest.raises((HierarchyError, InfeasibleError)):
                shoal.anonymize(rows, tmp_path / "p.yml")
        (tmp_path / "h.csv").write_text("disease;group;top\n" + DISEASES)
        with pytest.raises(HierarchyError):
            shoal.measure(rows, quasi=["age"], sensitive=["disease"], hierarchies={"disease": tmp_path / "h.csv"})


@pytest.mark.data
def test_the_files_of_arx_come_out_unchanged(shared_data, tmp_path):
    files = sorted((shared_data / "arx_adult").glob("adult_hierarchy_*.csv"))
    assert len(files) == 9
    for file in files:
        write_arx(read_arx(file), tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_bytes() == file.read_bytes(), file.name


@pytest.mark.data
def test_levels_of_arx_ages(shared_data):
    rule = read_arx(shared_data / "arx_adult" / "adult_hierarchy_age.csv", "age")
    h = rule.over("age", ["39", "17"])
    assert h.leaves[:2] == ("39", "17")
    assert h.n_leaves == 100  # the rest of the listed domain counts in the loss
    assert [h.levels[i].labels[h.levels[i].groups[0]] for i in range(5)] == ["39", "35-39", "30-39", "20-39", "*"]
    assert [len(level.labels) for level in h.levels] == [100, 20, 10, 5, 1]
    assert lint(rule.rows) == []


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=["Cs"]), min_size=1, max_size=8),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
def test_any_values_survive_writing_and_reading(tmp_path_factory, values):
    file = tmp_path_factory.mktemp("arx") / "h.csv"
    write_arx(FromTree(tuple((v, "g", "*") for v in values)), file)
    assert [r[0] for r in read_arx(file).rows] == values


def test_a_built_hierarchy_can_be_written(tmp_path):
    h = Hierarchy.from_rows("z", [["1234", "12", "*"], ["1299", "12", "*"]])
    write_arx(h, tmp_path / "h.csv")
    assert (tmp_path / "h.csv").read_text() == "1234;12;*\n1299;12;*\n"


@pytest.mark.parametrize(
    ("raw", "error", "words"),
    [
        (b"", HierarchyError, "no rows"),
        (b"a;b\nc\n", HierarchyError, "line 2 .* has 1 fields"),
        (b"a;x\na;y\n", HierarchyError, "1 line of the hierarchy lists a value"),
        (b"a;x;p\nb;x;q\n", HierarchyError, "not monotone: 1 group of level 1 lies in several"),
        (b"\xff\xfe\x00", UnreadableError, "not UTF-8"),
        (b'"a;b\n', UnreadableError, "well-formed"),
    ],
)
def test_broken_files_are_refused_without_showing_them(tmp_path, raw, error, words):
    (tmp_path / "h.csv").write_bytes(raw)
    with pytest.raises(error, match=words):
        read_arx(tmp_path / "h.csv")


def test_missing_files_and_full_disks(tmp_path):
    with pytest.raises(UnreadableError, match="cannot be read"):
        read_arx(tmp_path / "none.csv")
    with pytest.raises(OutputError, match="nothing can be written"):
        write_arx(FromTree((("a", "*"),)), tmp_path / "nowhere" / "h.csv")


class TestLint:
    @pytest.mark.parametrize(
        ("rows", "codes"),
        [
            ([], ["empty"]),
            ([["a", "x"], ["b"]], ["ragged"]),
            ([["a", "x"], ["b", "x", "*"]], ["ragged"]),
            ([["a", "x", "*"], ["a", "x", "*"]], ["duplicate"]),
            ([["a", "x", "*"], ["a", "y", "*"]], ["conflict"]),
            ([["a", " ", "*"], ["b", " ", "*"]], ["blank"]),
            ([["a", "x", "p"], ["b", "x", "q"]], ["not-monotone", "no-top"]),
            ([["a", "A", "*"], ["b", "B", "*"]], ["unreachable"]),
            ([["a", "x"], ["b", "x"], ["c", "y"]], ["no-top"]),
            ([["a", "x", "*"], ["b", "x", "*"]], []),
        ],
    )
    def test_findings(self, rows, codes):
        assert [f.code for f in lint(rows)] == codes

    def test_cover(self):
        found = lint([["a", "*"], ["b", "*"]], values=["a", "CANARY"], counts=[3, 4])
        assert [(f.code, f.severity) for f in found] == [("missing", "error"), ("unused", "warning")]
        assert "4 records" in found[0].message
        assert not any("CANARY" in f.message for f in found)

    def test_lines_are_numbered_from_one_and_the_first_twenty_are_named(self):
        for bad, code in ((["b"], "ragged"), (["a", "*"], "duplicate"), (["a", "+"], "conflict"), (["b", " "], "blank")):
            rows = [["a", "*"]] + [[bad[0] if code != "blank" else f"b{i}", *bad[1:]] for i in range(21)]
            found = next(f for f in lint(rows) if f.code == code)
            assert found.lines == tuple(range(2, 22))
            assert "21 lines" in found.message

    def test_listed_values_that_do_not_occur_are_counted(self):
        (found,) = lint([["a", "*"], ["b", "*"], ["c", "*"]], values=["b"])
        assert found.message == "2 of 3 listed values do not occur."

    @settings(deadline=None, max_examples=60)
    @given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=8))
    def test_a_hierarchy_can_be_built_exactly_where_lint_finds_no_error(self, rows):
        errors = [f for f in lint(rows) if f.severity == "error"]
        try:
            FromTree(tuple(rows)).over("c", sorted({r[0] for r in rows}))
        except HierarchyError:
            assert errors
        else:
            assert not errors


def test_preview_counts_every_level_and_names_no_small_group():
    h = Hierarchy.from_rows("z", [["1234", "12", "*"], ["1299", "12", "*"], ["2000", "20", "*"]])
    levels = preview(h, [1, 6, 3], k=5)
    assert [(p.level, p.groups, p.smallest, p.largest, p.below_k) for p in levels] == [
        (0, 3, 1, 6, 2),
        (1, 2, 3, 7, 1),
        (2, 1, 10, 10, 0),
    ]
    assert levels[0].shown == (("1299", 6),)
    assert preview(h, np.zeros(3, int))[0].groups == 0


def test_a_preview_names_the_largest_groups_of_at_least_k():
    rows = [[f"v{i}", "*"] for i in range(6)]
    first = preview(Hierarchy.from_rows("z", rows), [4, 5, 9, 7, 5, 8], k=5, limit=4)[0]
    assert first.shown == (("v2", 9), ("v5", 8), ("v3", 7), ("v1", 5))
    assert first.below_k == 1, "a group of exactly k is none of them"
