"""The code of tutorials, how-to pages and the package's README runs from top to bottom."""

import re
from pathlib import Path

import pytest

import counterpoint as cp

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs/tutorials").glob("*.md")), ROOT / "docs/how-to.md"]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    for package in ("pandas", "sklearn"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    code = blocks(page)
    assert code
    names = {}
    for block in code:
        exec(compile(block, str(page), "exec"), names)


def test_every_user_has_a_tutorial():
    assert [p.stem for p in PAGES] == ["advertiser", "clinic", "pricing", "researcher", "how-to"]


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    missing = [name for name in cp.__all__ if not name.startswith("_") and f"::: counterpoint.{name}\n" not in page + "\n"]
    assert not missing
