"""Documents of offices: HTML, PDF and Word, imported, replaced and removed by id."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from memwarden import Warden
from memwarden.api.blocking import BoundScope

CONFIG = {"embedder": "none", "extraction": "off"}
PAGE = "<html><head><title>House</title></head><body><h1>Cellar</h1><p>The {} is a {}.</p></body></html>"
WORD = (
    '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>The roof is slate.</w:t></w:r></w:p></w:body></w:document>"
)
TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)


def word_file(file: Path) -> None:
    with ZipFile(file, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", RELATIONS)
        archive.writestr("word/document.xml", WORD)


def pdf_file(file: Path, text: str) -> None:
    """Write a page of a PDF by hand: five objects and their table."""
    stream = f"BT /F1 18 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    content, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj%s endobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 6\n0000000000 65535 f \n%strailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    file.write_bytes(content + end % (table, len(content)))


def now(me: BoundScope) -> list[str]:
    return sorted(item.text for item in me.find() if item.valid_to is None)


def test_documents_are_imported_replaced_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "house.html").write_text(PAGE.format("boiler", "Vaillant"))
    word_file(folder / "roof.docx")
    pdf_file(folder / "garden.pdf", "The shed is green.")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    with Warden.open("memory://", config=CONFIG) as warden:
        me = warden.scope(user="ana")
        done = warden.import_files(folder, user="ana")
        assert (done.formats, done.stored, len(done.refused)) == (("files",), 3, 1)
        boiler, shed, roof = (
            "House › Cellar: The boiler is a Vaillant.",
            "garden: The shed is green.",
            "roof: The roof is slate.",
        )
        assert now(me) == [boiler, shed, roof]
        (folder / "house.html").write_text(PAGE.format("boiler", "Viessmann"))
        (folder / "roof.docx").unlink()
        again = warden.import_files(folder, user="ana")
        assert (again.stored, again.known, again.ended) == (1, 1, 2)
        assert now(me) == [boiler.replace("Vaillant", "Viessmann"), shed]
        assert {item.trust for item in me.find()} == {"external"}
