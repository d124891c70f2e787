"""Which files of a folder or a hub repository are a split, by the conventions of the `datasets` library.

A README's metadata says it (`configs`), or else folder and file names do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from resit.assets.formats import READERS, suffix_of
from resit.errors import UsageError

KEYWORDS: Mapping[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
METADATA = frozenset(
    {"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "config.json"}
)
SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}.*")


def split_files(
    names: Iterable[str],
    config: str | None,
    split: str,
    card: Mapping[str, Any] | None = None,
    *,
    data_dir: str | None = None,
    what: str = "the data set",
) -> list[str]:
    """The names of a split's files, sorted. Raises UsageError that lists what there is instead."""
    tables = sorted(name for name in names if _is_table(name))
    configs = (card or {}).get("configs")
    if isinstance(configs, list) and configs and data_dir is None:
        return _by_card(tables, config, split, configs, what)
    if data_dir:
        tables = _inside(tables, data_dir)
    elif config not in (None, "default"):
        tables = _of_config(tables, str(config), what)
    return _chosen(splits_by_name(tables), split, what)


def _is_table(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return suffix_of(name) in READERS and path.name not in METADATA and not hidden


def _inside(names: Sequence[str], folder: str) -> list[str]:
    prefix = folder.strip("/") + "/"
    return [name for name in names if name.startswith(prefix)]


def _of_config(names: Sequence[str], config: str, what: str) -> list[str]:
    found = [name for name in names if config in PurePosixPath(name).parts[:-1]]
    if not found:
        raise UsageError(
            f"{what} has no configuration {config!r}", "leave out dataset_name, or name a folder of it"
        )
    return found


def _chosen(splits: Mapping[str, list[str]], split: str, what: str) -> list[str]:
    if not splits.get(split):
        there = ", ".join(sorted(name for name in splits if splits[name])) or "no file that could be read"
        raise UsageError(f"{what} has no split {split!r}; it has {there}")
    return splits[split]


def splits_by_name(names: Sequence[str]) -> dict[str, list[str]]:
    """Files by the split that their folder or name says; all are `train` where none says any."""
    splits: dict[str, list[str]] = {}
    for name in names:
        said = _said(name)
        if said:
            splits.setdefault(said, []).append(name)
    return splits or {"train": list(names)}


def _said(name: str) -> str | None:
    path = PurePosixPath(name)
    shard = SHARD.fullmatch(path.name)
    if shard and path.parts[:-1][-1:] == ("data",):
        return _split_named(shard.group(1)) or shard.group(1)
    words = [*reversed(path.parts[:-1]), *re.split(r"[^A-Za-z0-9]+", path.name.lower())]
    return next(filter(None, map(_split_named, words)), None)


def _split_named(word: str) -> str | None:
    return next((split for split, words in KEYWORDS.items() if word.lower() in words), None)


def _by_card(
    names: Sequence[str], config: str | None, split: str, configs: Sequence[Mapping[str, Any]], what: str
) -> list[str]:
    entry = _config_entry(config, configs, what)
    inside = str(entry.get("data_dir") or "")
    data_files = entry.get("data_files")
    if data_files is None:
        return _chosen(splits_by_name(_inside(names, inside) if inside else names), split, what)
    splits = {
        name: matching(names, [f"{inside}/{pattern}".lstrip("/") for pattern in patterns])
        for name, patterns in by_split(data_files).items()
    }
    return _chosen(splits, split, what)


def _config_entry(config: str | None, configs: Sequence[Mapping[str, Any]], what: str) -> Mapping[str, Any]:
    by_name = {str(entry.get("config_name", "default")): entry for entry in configs}
    if config is not None and config in by_name:
        return by_name[config]
    default = next((entry for entry in configs if entry.get("default")), by_name.get("default"))
    if config in (None, "default") and (default or len(configs) == 1):
        return default or configs[0]
    raise UsageError(
        f"{what} has no configuration {config!r}" if config else f"{what} has several configurations",
        f"dataset_name is one of {', '.join(by_name)}",
    )


def by_split(data_files: Any) -> dict[str, list[str]]:
    """File patterns by split, from a pattern, a list, a mapping by split or a card's list of entries."""
    if isinstance(data_files, Mapping):
        return {str(split): _patterns(value) for split, value in data_files.items()}
    if isinstance(data_files, list) and all(isinstance(entry, Mapping) for entry in data_files):
        return {str(entry["split"]): _patterns(entry["path"]) for entry in data_files}
    return {"train": _patterns(data_files)}


def _patterns(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]


def matching(names: Iterable[str], patterns: Sequence[str]) -> list[str]:
    """The names that any of the glob patterns matches, in the patterns' order; `**` crosses folders."""
    known = list(names)
    found = [name for pattern in patterns for name in known if re.fullmatch(_regex(pattern), name)]
    return list(dict.fromkeys(found))


def _regex(pattern: str) -> str:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    words = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    return "".join(parts.get(word) or (word if word.startswith("[") else re.escape(word)) for word in words)
