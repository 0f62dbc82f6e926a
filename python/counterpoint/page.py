"""How results look: text, HTML and pictures. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

# the colours of the report
COLOURS = {"deploy": "#1a7f37", "promising": "#0969da", "keep": "#9a6700", "invalid": "#cf222e"}
WORDS = {
    "deploy": "DEPLOY",
    "promising": "PROMISING, not proven: the densities are estimated",
    "keep": "KEEP the logging policy",
    "invalid": "INVALID: no decision",
}


def cell(value: Any) -> str:
    """A value for a table: four digits, words as they are."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def text_table(records: Sequence[dict[str, Any]]) -> str:
    """Rows under their names, for a terminal; columns without any value are left out."""
    names = [n for n in records[0] if any(r[n] is not None for r in records)] if records else []
    rows = [names, *([cell(r[n]) for n in names] for r in records)]
    widths = [max(len(r[i]) for r in rows) for i in range(len(names))]
    told = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(r, widths, strict=True)))
             for r in rows]  # fmt: skip
    return "\n".join(line.rstrip() for line in told)


def table(records: Sequence[dict[str, Any]]) -> str:
    """Rows under their names, for a notebook."""
    names = [n for n in records[0] if any(r[n] is not None for r in records)] if records else []
    head = "".join(f"<th style='text-align:left'>{escape(n)}</th>" for n in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell(r[n]))}</td>" for n in names) + "</tr>" for r in records)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def certificate(data: dict[str, Any], records: Sequence[dict[str, Any]]) -> str:
    """The verdict in its colour, the reasons, the intervals."""
    verdict = data["verdict"]
    reasons = "".join(f"<li>{escape(r)}</li>" for r in data["reasons"])
    return (
        f"<div style='border-left:4px solid {COLOURS[verdict]};padding-left:1em'>"
        f"<p style='color:{COLOURS[verdict]};font-weight:bold'>Certificate: {escape(WORDS[verdict])}</p>"
        f"<ul>{reasons}</ul>{table(records)}</div>"
    )


def description(words: str, records: Sequence[dict[str, Any]]) -> str:
    """The columns, and what is said of the propensities."""
    said = [line for line in words.splitlines() if line.startswith(("propensities", "warning"))]
    return table(records) + lines(said)


def lines(texts: Sequence[str]) -> str:
    """Sentences below a table."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    return plt.subplots()[1]


def intervals(records: Sequence[dict[str, Any]], ax: Any, title: str) -> Any:
    """Estimates as points with their intervals, the first on top."""
    ax = _axes(ax)
    for y, r in enumerate(reversed(records)):
        ax.plot([r["lower"], r["upper"]], [y, y], color="#57606a", linewidth=2)
        ax.plot([r["estimate"]], [y], "o", color="#0969da")
    ax.set_yticks(range(len(records)), [r["name"] for r in reversed(records)])
    if any(r["lower"] <= 0 <= r["upper"] or r["name"] == "difference" for r in records):
        ax.axvline(0, color="#d0d7de", linewidth=1, zorder=0)
    ax.set_title(title)
    return ax


def support(rows: Sequence[dict[str, Any]], ax: Any) -> Any:
    """n_eff/n of policies around an action, a line for each std."""
    ax = _axes(ax)
    for i, (std, _) in enumerate(rows[0]["effective_share"]):
        ax.plot([r["action"] for r in rows], [r["effective_share"][i][1] for r in rows], "o-", label=f"{std:g}")
    ax.set_xlabel("action")
    ax.set_ylabel("n_eff / n")
    ax.legend(title="std / logged std")
    return ax


def rows_needed(records: Sequence[dict[str, Any]], ax: Any) -> Any:
    """Rows by the move of the action, with the noise of the log and with the best."""
    ax = _axes(ax)
    for name, label in [("rows", "noise of this log"), ("best_rows", "best noise")]:
        told = [(r["move"], r[name]) for r in records if r[name] is not None]
        ax.plot([m for m, _ in told], [n for _, n in told], "o-", label=label)
    ax.set_yscale("log")
    ax.set_xlabel("move of the action")
    ax.set_ylabel("rows needed")
    ax.legend()
    return ax


def looks(records: Sequence[dict[str, Any]], ax: Any) -> Any:
    """The interval of the difference as rows come in."""
    ax = _axes(ax)
    rows = [r["rows"] for r in records]
    ax.fill_between(rows, [r["lower"] for r in records], [r["upper"] for r in records], color="#0969da", alpha=0.3)
    ax.plot(rows, [0.5 * (r["lower"] + r["upper"]) for r in records], "o-", color="#0969da")
    ax.axhline(0, color="#57606a", linewidth=1)
    ax.set_xlabel("rows")
    ax.set_ylabel("difference to the log")
    return ax
