"""The notebooks of the documentation run from top to bottom."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path):
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("sklearn")
    book = nbformat.read(path, as_version=4)
    client.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.execution_count for cell in code)


def test_every_story_has_a_notebook_with_pictures():
    nbformat = pytest.importorskip("nbformat")
    assert [p.stem for p in NOTEBOOKS] == ["bidding", "dosing", "pricing", "your-own-policy"]
    for path in NOTEBOOKS:
        cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
        assert any("image/png" in o.get("data", {}) for c in cells for o in c.outputs), path.stem
