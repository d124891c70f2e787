"""`resit data`: what Resit fetches, where from, under which licence, and whether it is here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from resit.cli.examples import examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from resit.assets.catalogue import Asset

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Name = Annotated[str, typer.Argument(help="An asset of `resit data list`.")]
Names = Annotated[list[str] | None, typer.Argument(help="Assets of `resit data list`; none: all of them.")]

data = typer.Typer(
    name="data",
    help="List, show, download and verify data sets, task files and models.",
    no_args_is_help=True,
)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.add_typer(
        data,
        short_help="Data sets, task files, models: licence, source, digest.",
        epilog=examples("resit data download gsm8k lm-eval"),
    )


@data.command("list", short_help="The assets, and which are here.", epilog=examples("resit data list --json"))
def list_assets(as_json: AsJson = False) -> None:
    """List the assets with their licences and whether they are on this machine."""
    from resit import assets
    from resit.assets.inventory import summary

    entries = [summary(entry) for entry in assets.catalogue().values()]
    if as_json:
        _print_json({"assets": entries})
        return
    columns = ("asset", "here", "licence", "what")
    _print_table(columns, [(e["name"], _here(e["parts"]), e["licence"], e["title"]) for e in entries])


@data.command(
    "show", short_help="Licence, source and digests of one.", epilog=examples("resit data show gsm1k")
)
def show(name: Name, as_json: AsJson = False) -> None:
    """Show an asset: licence and where it is stated, provenance, files, sources, digests."""
    from resit import assets
    from resit.assets.inventory import details

    entry = details(assets.asset(name))
    if as_json:
        _print_json(entry)
        return
    for line in _paragraphs(entry):
        typer.echo(line)


@data.command(
    "download",
    short_help="Fetch and verify.",
    epilog=examples("RESIT_CACHE=/data/resit resit data download gsm8k smollm2-135m"),
)
def download(names: Names = None, as_json: AsJson = False) -> None:
    """Fetch assets into the cache and verify them; what is there already is not fetched again.

    The cache is RESIT_CACHE, or the platform's cache folder. RESIT_MIRROR=DIR is looked in first.
    """
    from resit.assets.inventory import parts
    from resit.errors import AssetError

    done: list[dict[str, Any]] = []
    failed: list[AssetError] = []
    for entry in _chosen(names):
        for part in parts(entry):
            try:
                found = {"asset": entry.name, "part": part.name, "where": part.fetch(), "problem": ""}
            except AssetError as error:
                failed.append(error)
                found = {"asset": entry.name, "part": part.name, "where": "", "problem": str(error)}
            done.append(found)
            if not as_json and not found["problem"]:
                typer.echo(f"{entry.name}: {part.name}: {found['where']}")
    if as_json:
        _print_json({"parts": done})
    _raise(failed)


@data.command(
    "verify",
    short_help="Check what is here against the catalogue.",
    epilog=examples("resit data verify gsm8k"),
)
def verify(names: Names = None, as_json: AsJson = False) -> None:
    """Read what is on this machine again and check it against the catalogue; downloads nothing."""
    from resit.assets import inventory
    from resit.errors import AssetError

    chosen = [(entry, list(inventory.verify(entry))) for entry in _chosen(names)]
    findings = [finding for _, found in chosen for finding in found]
    shown = [finding.as_json() for finding in findings]
    if as_json:
        _print_json({"files": shown})
    else:
        _print_table(("verdict", "file", "path"), [(_verdict(f), f["file"], f["path"]) for f in shown])
    problems = [AssetError(finding.problem) for finding in findings if finding.problem]
    for entry, found in chosen if names else ():  # what is asked for by name should be here
        if found and not any(finding.path for finding in found):
            problems.append(
                AssetError(f"{entry.name} is not on this machine", f"resit data download {entry.name}")
            )
    _raise(problems)


def _chosen(names: list[str] | None) -> Iterator[Asset]:
    from resit import assets

    return iter([assets.asset(name) for name in names or assets.catalogue()])


def _raise(failed: list[Any]) -> None:
    """One error for all that failed; its exit status is an asset's."""
    from resit.errors import AssetError

    if failed:
        hints = list(dict.fromkeys(error.hint for error in failed if error.hint))
        raise AssetError("\n\n".join(map(str, failed)), "\n".join(hints))


def _verdict(finding: dict[str, str]) -> str:
    if not finding["path"]:
        return "not here"
    return "WRONG" if finding["problem"] else f"right by {finding['checked']}"


def _here(parts: list[dict[str, str]]) -> str:
    states = [part["state"] for part in parts]
    there = [state for state in states if state]
    if not there:
        return "no"
    kinds = ", ".join(dict.fromkeys(there))
    return kinds if len(there) == len(states) else f"{len(there)} of {len(states)} ({kinds})"


def _paragraphs(entry: dict[str, Any]) -> Iterator[str]:
    import textwrap

    yield f"{entry['name']}: {entry['title']}"
    for key in ("licence", "licence_stated_in", "provenance", "note"):
        if entry[key]:
            label = key.replace("_", " ")
            yield textwrap.fill(f"{label}: {entry[key]}", 100, subsequent_indent="  ", break_long_words=False)
    for file in entry["files"]:
        yield f"\n{file['name']}"
        yield f"  sha256: {file['sha256'] or 'not known; the rows are checked'}"
        yield from (f"  source: {source}" for source in file["sources"] or ["none but RESIT_MIRROR"])
    for dataset in entry["datasets"]:
        aliases = f" (also {', '.join(dataset['aliases'])})" if dataset["aliases"] else ""
        yield f"\ndataset_path: {dataset['path']}{aliases}"
        for config, splits in dataset["configs"].items():
            yield from (f"  {config} {name}: {_pinned(split)}" for name, split in splits.items())


def _pinned(split: dict[str, Any]) -> str:
    if split["generated"]:
        return "generated here"
    if split["same_as"]:
        return f"the rows of {' '.join(split['same_as'])}"
    return f"{split['rows']} rows, {split['digest'] or 'digest not known'}"


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, ensure_ascii=True))


def _print_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Aligned columns, each line whole however narrow the terminal, so that paths can be copied."""
    table = [columns, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(columns))]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        typer.echo("  ".join(cells).rstrip())
