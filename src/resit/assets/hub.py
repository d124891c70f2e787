"""The hub, through huggingface-hub (extra `hub`), which also keeps the user's token and cache."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resit.assets.sources import SourceFailure

SOURCE = re.compile(r"hf:(models/)?([^/@]+/[^/@]+)@([^/]+)/(.+)")
CONVERTED = "refs/convert/parquet"
"""Branch on which the hub keeps its own parquet copy of a data set."""
COMMIT = re.compile(r"[0-9a-f]{40}")
TIMEOUT_SECONDS = 30
NEEDS = "pip install 'resit[hub]'"


@dataclass(frozen=True, slots=True)
class Repository:
    """A data set's repository at one commit."""

    path: str
    commit: str
    names: tuple[str, ...]
    card: Mapping[str, Any]
    """The metadata of its README: `configs` says which files are which split."""


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what huggingface-hub raises into reasons."""
    try:
        from huggingface_hub import errors
    except ImportError:
        raise SourceFailure("huggingface-hub is not installed", NEEDS) from None
    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)  # its warnings about retries; the reason is told once, below
    try:
        yield
    except errors.GatedRepoError:
        raise SourceFailure(
            "its owner gives access on request only (gated)",
            "ask for access on its page, then set HF_TOKEN or run `hf auth login`",
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceFailure(
            "no such repository, or a private one", "for a private one, set HF_TOKEN or run `hf auth login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise SourceFailure("the repository has no such revision") from None
    except errors.LocalEntryNotFoundError as error:
        raise SourceFailure(f"no connection to the hub ({_cause(error)})") from None
    except errors.EntryNotFoundError:
        raise SourceFailure("the repository has no such file") from None
    except (getattr(errors, "HTTPError", OSError), OSError, ValueError) as error:
        raise SourceFailure(_first_line(error)) from None
    finally:
        logger.setLevel(level)


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _cause(error: BaseException) -> str:
    return _first_line(error.__cause__ or error)


def _settings() -> dict[str, Any]:
    """Endpoint and cache as the environment has them now, not as at huggingface-hub's import."""
    cache = os.environ.get("HF_HUB_CACHE")
    return {"endpoint": os.environ.get("HF_ENDPOINT") or None, "cache_dir": cache or None}


def download(repo: str, revision: str, name: str, repo_type: str = "dataset") -> Path:
    """A file of a repository, from huggingface-hub's cache or the hub. Raises SourceFailure."""
    with _explained():
        from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache

        settings = _settings()
        place = {"revision": revision, "repo_type": repo_type}
        cached = try_to_load_from_cache(repo, name, cache_dir=settings["cache_dir"], **place)
        if isinstance(cached, str) and COMMIT.fullmatch(revision):
            return Path(cached)
        # asked first, because hf_hub_download tries for half a minute where there is no network
        HfApi(endpoint=settings["endpoint"]).repo_info(repo, timeout=TIMEOUT_SECONDS, **place)
        return Path(hf_hub_download(repo, name, **place, **settings))


def file(source: str) -> Path:
    """The file that `hf:org/name@revision/path` names (a data set's; `hf:models/…` a model's)."""
    match = SOURCE.fullmatch(source)
    if match is None:
        raise SourceFailure("expected hf:org/name@revision/path")
    model, repo, revision, name = match.groups()
    return download(repo, revision, name, "model" if model else "dataset")


def snapshot_folder(path: str, revision: str) -> Path:
    """Where huggingface-hub keeps a data set at a commit, whether it has it or not."""
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()
    return cache / f"datasets--{path.replace('/', '--')}" / "snapshots" / revision


def repository(path: str, revision: str | None) -> Repository:
    """What a data set's repository holds, asked of the hub, else as cached here. Raises SourceFailure."""
    try:
        return _asked(path, revision)
    except SourceFailure as failure:
        found = _cached(path, revision)
        if found is None:
            raise failure from None
        return found


def _asked(path: str, revision: str | None) -> Repository:
    with _explained():
        from huggingface_hub import HfApi

        api = HfApi(endpoint=_settings()["endpoint"])
        info = api.dataset_info(path, revision=revision, timeout=TIMEOUT_SECONDS)
    names = tuple(sorted(sibling.rfilename for sibling in info.siblings or ()))
    card = info.card_data.to_dict() if info.card_data else {}  # type: ignore[no-untyped-call]
    return Repository(path, info.sha or revision or "", names, card)


def _cached(path: str, revision: str | None) -> Repository | None:
    """The snapshot that an earlier download left, so that a machine without network works on."""
    try:
        from huggingface_hub import snapshot_download

        folder = Path(
            snapshot_download(
                path, revision=revision, repo_type="dataset", local_files_only=True, **_settings()
            )
        )
    except (ImportError, OSError, ValueError):
        return None
    names = [found.relative_to(folder).as_posix() for found in folder.rglob("*") if found.is_file()]
    return Repository(path, folder.name, tuple(sorted(names)), card_of(folder))


def card_of(folder: Path) -> Mapping[str, Any]:
    """The metadata block of a folder's README.md; empty when there is none."""
    import yaml

    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    block = re.match(r"---\r?\n(.*?)\r?\n---", text, re.DOTALL)
    try:
        found = yaml.safe_load(block.group(1)) if block else {}
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def converted(repository_: Repository) -> Repository | None:
    """The hub's own parquet copy of a data set that is only a script, which is never run."""
    scripts: Sequence[str] = [name for name in repository_.names if name.endswith(".py")]
    return repository(repository_.path, CONVERTED) if scripts else None
