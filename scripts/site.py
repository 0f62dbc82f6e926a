"""Pages of the documentation site that are made of other files, so that nothing is written twice.

A hook of mkdocs: README, GUIDE, CHANGELOG and the Python package's README become pages, the reference of the command line is what the
program says of itself, and `llms.txt` lists all pages for programs that read. Links inside the site are checked as it is built, those of
notebooks too.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

from mkdocs.exceptions import PluginError
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


def recipe() -> str:
    """The fields of a recipe, as the program lists them."""
    head = "What `counterpoint recipe` prints: every field with its default and meaning. In Python each is a keyword of `Learner`."
    return f"# Recipe\n\n{head}\n\n```toml\n{said('recipe').rstrip()}\n```\n"


def llms(config: Any, files: Any) -> str:
    """All pages by the sections of the site, as https://llmstxt.org has it."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", ""]
    for section in config["nav"]:
        for heading, pages in section.items():
            lines += [f"## {heading}", ""]
            listed = pages if isinstance(pages, list) else [{heading: pages}]
            lines += [f"- [{title}]({files.get_file_from_path(source).url})" for page in listed for title, source in page.items()]
            lines.append("")
    return "\n".join(lines)


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
    made["recipe.md"] = recipe()
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "llms.txt", content=llms(config, files)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links of every page."""
    return rewritten(markdown)


def on_post_build(config: Any) -> None:
    """Every link of every page that stays inside the site must lead to a file of it."""
    site = Path(config["site_dir"])
    dead = []
    for page in site.rglob("*.html"):
        for link in re.findall(r"""<a\b[^>]*?\bhref=["']([^"']+)["']""", page.read_text(encoding="utf-8")):
            path = unquote(urldefrag(html.unescape(link))[0])
            if not path or re.match(r"[a-z]+:|//", path) or page.name == "404.html":
                continue
            target = (site / path.lstrip("/")) if path.startswith("/") else (page.parent / path)
            if not (target / "index.html" if target.is_dir() else target).exists():
                dead.append(f"{page.relative_to(site)}: {link}")
    if dead:
        raise PluginError("dead links:\n" + "\n".join(sorted(set(dead))))
