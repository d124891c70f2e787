"""Lists what an installed extra of Resit brings along, and under which licences.

    python release/licences.py [--extras hf,hub,...] > dist/licences.md

Walks the requirements of the installed `resit` as its metadata states them, extra by extra, on this platform.
A licence is what the package itself states: its SPDX expression, else its classifiers, else its own words.
Exits with 1 where a package states none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NOT_FOR_USERS = {"test", "dev", "docs", "demo", "vllm"}
"""Tools of developers, a sum of other extras, and one that has an environment of its own."""


def licence(package: Distribution) -> str:
    """What a package says it is under; empty where it says nothing."""
    told = package.metadata
    for expression in told.get_all("License-Expression") or ():
        return str(expression)
    classified = [
        line.rpartition(" :: ")[2]
        for line in told.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    if classified:
        return ", ".join(classified)
    lines = [line.strip() for text in told.get_all("License") or () for line in str(text).splitlines()]
    lines = [line for line in lines if line]
    if lines:
        return lines[0][:80]
    return recognised(package)


def recognised(package: Distribution) -> str:
    """The title of a licence file that a package without a statement carries."""
    for file in package.files or ():
        if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING")):
            for line in file.read_text(encoding="utf-8").splitlines():
                if line.strip():
                    return f"{line.strip()[:80]} (from its {file.name})"
    return ""


def needed(package: Distribution, extras: Iterable[str]) -> Iterator[Requirement]:
    """The requirements of a package with these extras that apply here."""
    wanted = tuple(extras) or ("",)
    for text in package.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in wanted):
            yield requirement


def brought(root: str, extras: Iterable[str]) -> dict[str, Distribution]:
    """Every package below a root, by name, the root itself left out."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(root, frozenset(extras))]
    while waiting:
        name, with_extras = waiting.pop()
        name = canonicalize_name(name)
        if (name, with_extras) in seen:
            continue
        seen.add((name, with_extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            print(f"{name} is not installed here", file=sys.stderr)
            continue
        if name != canonicalize_name(root):
            found[name] = package
        waiting += [(below.name, frozenset(below.extras)) for below in needed(package, with_extras)]
    return found


def main() -> None:
    """Print the table."""
    offered = set(distribution("resit").metadata.get_all("Provides-Extra") or ()) - NOT_FOR_USERS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--extras", default=",".join(sorted(offered)))
    extras = [extra for extra in parser.parse_args().extras.split(",") if extra]
    packages = brought("resit", extras)
    always = brought("resit", ())
    print(f"Packages that `resit` brings along with the extras {', '.join(extras)}; * without any.\n")
    print("| package | version | licence |\n| --- | --- | --- |")
    silent = []
    for name, package in sorted(packages.items()):
        stated = licence(package)
        if not stated:
            silent.append(name)
        mark = "*" if name in always else ""
        print(f"| {name}{mark} | {package.version} | {stated or 'none stated'} |")
    if silent:
        sys.exit(f"no licence stated: {', '.join(silent)}")


if __name__ == "__main__":
    main()
