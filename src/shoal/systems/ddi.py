"""DDI codebooks (DDI-C 2.x): what one says of the columns of a data file, and one written for a release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from shoal.api.arguments import open as open_table
from shoal.disk.atomic import write_text
from shoal.errors import OutputError, TamperError, UnreadableError
from shoal.kernels.codes import is_declared
from shoal.kernels.text import xml_tree
from shoal.model.certificate.certificate import Certificate
from shoal.model.certificate.file import read_certificate
from shoal.model.roles import Column
from shoal.release.certificate import codebook
from shoal.release.verification import verify
from shoal.report.release_report import render_signing_page
from shoal.systems.codebook import Variable, bring_labelled, only
from shoal.systems.folder import Brought

NAMESPACE = "ddi:codebook:2_5"
MEASURES = {"nominal": "nominal", "ordinal": "ordinal", "interval": "scale", "ratio": "scale", "percent": "scale"}
NATURES = {"nominal": "nominal", "ordinal": "ordinal", "scale": "interval"}
"""Levels of measurement: those of DDI in Shoal's words, and the other way round."""
DATA = (".csv", ".tsv", ".txt", ".dat", ".parquet")
Element = ElementTree.Element


def from_ddi(source: str | Path, out: str | Path, *, k: int = 5) -> Brought:
    """Labelled data and a drafted policy in the new folder ``out``, from a folder with a codebook (.xml) and its data file."""
    folder = Path(source)
    book = only(folder, (".xml",), "the codebook")
    return bring_labelled(only(folder, DATA, "the data"), variables(book.read_bytes()), out, k)


def variables(raw: bytes) -> list[Variable]:
    """The columns that a codebook describes.

    >>> book = b'<codeBook><dataDscr><var name="sex" nature="nominal"><labl>Sex</labl>'
    >>> book += b'<catgry><catValu>1</catValu><labl>male</labl></catgry></var></dataDscr></codeBook>'
    >>> variables(book)
    [Variable(name='sex', label='Sex', values={'1': 'male'}, missing=[], measure='nominal', left='')]
    """
    root = xml_tree(raw, "the codebook", "Export it again as DDI Codebook 2.5, UTF-8.")
    listed = [_variable(e) for e in root.iter() if _tag(e) == "var" and e.get("name")]
    if _tag(root) != "codeBook" or not listed:
        raise UnreadableError("this XML is not a DDI codebook with variables.", hint="Export it as DDI Codebook 2.5 (DDI-C).")
    return listed


def _variable(element: Element) -> Variable:
    values, missing = {}, []
    for category in _children(element, "catgry"):
        code = _text(category, "catValu")
        if not code:
            continue
        if label := _text(category, "labl"):
            values[code] = label
        if category.get("missing") == "Y":
            missing.append(code)
    for barred in _children(element, "invalrng"):
        missing += [code for item in _children(barred, "item") if (code := item.get("VALUE", "")) and code not in missing]
    measure = MEASURES.get(element.get("nature", ""), "nominal" if values else "")
    return Variable(element.get("name", ""), _text(element, "labl"), values, missing, measure)


def to_ddi(release: str | Path, out: str | Path) -> Path:
    """A codebook of a release folder that holds: its columns with their labels, and what was done about disclosure."""
    folder, target = Path(release), Path(out)
    made = verified(folder, target, "no codebook")
    if made.data.file is None:
        raise UnreadableError("the release is a table of a database.", hint="A codebook is written for a release in a file.")
    ElementTree.register_namespace("", NAMESPACE)
    root = ElementTree.Element(_name("codeBook"), {"version": "2.5"})
    study = _add(root, "stdyDscr")
    _add(_add(_add(study, "citation"), "titlStmt"), "titl", made.title or "Release")
    words = [f"k = {made.k:,}.", *(f"{r.sentence[:1].upper()}{r.sentence[1:]}." for r in made.requirements), *made.limits]
    _add(_add(_add(study, "dataAccs"), "useStmt"), "confDec", " ".join(words))
    _add(_add(_add(root, "fileDscr", ID="F1"), "fileTxt"), "fileName", made.data.file)
    with open_table(folder / made.data.file) as table:
        book = codebook.read(folder)
        variables = [_published_variable(c, book.get(c.name, {})) for c in table.schema.columns]
    _describe(_add(root, "dataDscr"), variables, {c.name: c.treatment for c in made.columns})
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    write_text(target, f"{head}\n{ElementTree.tostring(root, encoding='unicode')}\n")
    return target


def _published_variable(column: Column, entry: Mapping[str, Any]) -> Variable:
    """What the codebook of a release says of a column; what the data file itself says if there is none."""
    own = {f"{code:g}" if isinstance(code, float) else str(code): label for code, label in column.labels.items()}
    missing = [code for code in own if is_declared(code, column.user_missing)]
    label, level = entry.get("label", column.note), entry.get("level", column.measure)
    return Variable(column.name, label, entry.get("values", own), entry.get("missing", missing), level)


def _describe(book: Element, columns: Sequence[Variable], treated: Mapping[str, str]) -> None:
    for number, column in enumerate(columns, 1):
        nature = {"nature": NATURES[column.measure]} if column.measure in NATURES else {}
        var = _add(book, "var", name=column.name, files="F1", ID=f"V{number}", **nature)
        if column.label:
            _add(var, "labl", column.label)
        for code in dict.fromkeys((*column.values, *column.missing)):
            category = _add(var, "catgry", **({"missing": "Y"} if code in column.missing else {}))
            _add(category, "catValu", code)
            if code in column.values:
                _add(category, "labl", column.values[code])
        if column.name in treated:
            _add(var, "notes", treated[column.name], type="disclosure control")


def _add(parent: Element, tag: str, text: str = "", /, **attributes: str) -> Element:
    made = ElementTree.SubElement(parent, _name(tag), {k: _plain(v) for k, v in attributes.items()})
    if text:
        made.text = _plain(text)
    return made


def _name(tag: str) -> str:
    return f"{{{NAMESPACE}}}{tag}"


def _plain(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or (c >= " " and c not in "\x7f\ufffe\uffff") else "\ufffd" for c in text)


def _tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _children(element: Element, name: str) -> Iterator[Element]:
    return (child for child in element if _tag(child) == name)


def _text(element: Element, name: str) -> str:
    """The text of the first such child, in one line."""
    element_found = next(_children(element, name), None)
    return " ".join("".join(element_found.itertext()).split()) if element_found is not None else ""


def verified(folder: Path, target: Path, what: str) -> Certificate:
    """The certificate of a release that holds; ``what`` is not written otherwise, nor over another file."""
    if target.exists():
        raise OutputError(f"'{target.name}' exists already.", hint="Name a new file; nothing is written over another.")
    if not verify(folder).ok:
        raise TamperError(f"the release does not hold: {what} is written for it.", hint="Run: shoal verify FOLDER")
    return read_certificate(folder / "certificate.json")


def to_signing_page(release: str | Path, out: str | Path) -> Path:
    """A page (HTML) to print and sign: what leaves, to whom, what can still be learnt, who decided what."""
    target = Path(out)
    write_text(target, render_signing_page(verified(Path(release), target, "no page")))
    return target
