"""Pages of the documentation site that are made of other files, so that nothing is written twice.

A hook of mkdocs: README, GUIDE, CHANGELOG and the Python package's README become pages, the reference of the command line is what the
program says of itself, and `llms.txt` lists all pages.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]

#: Files of the repository that are pages of the site, by their names there.
PAGES = {
    "README.md": "index.md",
    "GUIDE.md": "guide.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "python/README.md": "python.md",
    "data/loan_offers.md": "loan_offers.md",
}


def said(*arguments: str) -> str:
    """What the program says."""
    told = [sys.executable, "-m", "counterpoint", *arguments]
    return subprocess.run(told, check=True, capture_output=True, text=True).stdout


def command_line() -> str:
    """The reference of the command line, from its own help."""
    lines = said("--help").split("Commands:")[1].split("Options:")[0].splitlines()
    commands = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    text = ["# Command line", "", "What `counterpoint` and its commands say of themselves with `--help`.", ""]
    for command in ["", *(c for c in commands if c != "help")]:
        words = said(*command.split(), "--help").rstrip()
        text += [f"## counterpoint {command}".rstrip(), "", "```text", words, "```", ""]
    return "\n".join(text)


def rewritten(text: str) -> str:
    """The links of the repository as links of the site; what is no page of it stays a file name."""
    for name, page in PAGES.items():
        text = text.replace(f"]({name})", f"]({page})").replace(f"](../{name})", f"]({page})")
    return (
        text.replace("](docs/", "](")
        .replace("](../docs/", "](")
        .replace("[MIT](LICENSE-MIT)", "MIT")
        .replace("[Apache-2.0](LICENSE-APACHE)", "Apache-2.0")
    )


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are made of other files."""
    made = {page: rewritten((ROOT / name).read_text(encoding="utf-8")) for name, page in PAGES.items()}
    made["cli.md"] = command_line()
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    titles = "\n".join(f"- {config['site_name']}: {f.src_uri}" for f in files.documentation_pages())
    files.append(File.generated(config, "llms.txt", content=f"# {config['site_name']}\n\n{config['site_description']}\n\n{titles}\n"))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links of every page."""
    return rewritten(markdown)
