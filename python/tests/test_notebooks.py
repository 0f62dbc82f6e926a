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


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2
