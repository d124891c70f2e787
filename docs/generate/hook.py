"""What MkDocs does beside reading docs/: it generates the reference, and sets formulas as MathML."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import commands
import protocols
import python_api
from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]


def on_config(config: Any) -> Any:
    """Put what is generated, and every design page, into the navigation."""
    design = sorted(path.name for path in (ROOT / "docs" / "design").glob("*.md"))
    chapters = {
        "Protocols": _protocol_nav(),
        "Command line": sorted(commands.pages()),
        "Python": sorted(python_api.pages()),
        "Design": [f"design/{name}" for name in design],
    }
    config.nav = [_filled(entry, chapters) for entry in config.nav]
    return config


def _protocol_nav() -> list[Any]:
    paths = [path for path in protocols.pages() if not path.endswith("index.md")]
    families: dict[str, list[str]] = {"GSM8K": [], "GSM1k": [], "Fresh": [], "MGSM": [], "Others": []}
    homes = {
        "gsm8k": "GSM8K",
        "gsm1k": "GSM1k",
        "gsm_fresh": "Fresh",
        "gsm_template": "Fresh",
        "mgsm": "MGSM",
    }
    for path in paths:
        name = path.rpartition("/")[2]
        home = next((family for prefix, family in homes.items() if name.startswith(prefix)), "Others")
        families[home].append(path)
    return ["protocols/index.md", *({name: members} for name, members in families.items())]


def _filled(entry: Any, chapters: dict[str, list[Any]]) -> Any:
    if not isinstance(entry, dict):
        return entry
    ((title, members),) = entry.items()
    if title in chapters:
        return {title: chapters[title]}
    return {title: [_filled(member, chapters) for member in members]} if isinstance(members, list) else entry


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    pages = {**protocols.pages(), **commands.pages(), **python_api.pages(), "changes.md": changes}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave out the marks that are for the test of the documentation's commands."""
    return re.sub(r"^<!-- (?:test|file|given): .*? -->\n", "", markdown, flags=re.M)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers set themselves: no script, no font, no network."""
    content = re.sub(r'<span class="arithmatex">\\\((.*?)\\\)</span>', _inline, content, flags=re.S)
    return re.sub(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', _block, content, flags=re.S)


def _inline(found: re.Match[str]) -> str:
    return convert(html.unescape(found[1]).strip())


def _block(found: re.Match[str]) -> str:
    return f"<p>{convert(html.unescape(found[1]).strip(), display='block')}</p>"
