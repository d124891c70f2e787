"""The hub, through huggingface-hub (extra `hub`), which also keeps the user's token and cache."""

from __future__ import annotations

import glob
import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from resit.assets.catalogue import File
from resit.assets.fetch import cache_folder, store
from resit.assets.sources import Opened, SourceFailure, check_may_fetch

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
    names: list[str]
    card: Mapping[str, Any]
    """`configs` of its README's metadata, which says which files are which split."""


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


def _endpoint() -> str | None:
    """The hub's address as the environment has it now, not as at huggingface-hub's import."""
    return os.environ.get("HF_ENDPOINT") or None


def _cache() -> str | None:
    return os.environ.get("HF_HUB_CACHE") or None


def download(repo: str, revision: str, name: str, repo_type: str = "dataset") -> Path:
    """A file of a repository, from huggingface-hub's cache or the hub. Raises SourceFailure.

    A commit's file never changes, so its cached copy is enough; a branch's is used where the hub gives none.
    """
    with _explained():
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(repo, name, _cache(), revision, repo_type)
    cached = Path(found) if isinstance(found, str) else None
    if cached and COMMIT.fullmatch(revision):
        return cached
    try:
        return _downloaded(repo, revision, name, repo_type)
    except SourceFailure:
        if cached is None:
            raise
        return cached


def _downloaded(repo: str, revision: str, name: str, repo_type: str) -> Path:
    check_may_fetch()
    with _explained():
        from huggingface_hub import HfApi, hf_hub_download

        endpoint = _endpoint()
        # asked first, because hf_hub_download tries for half a minute where there is no network
        HfApi(endpoint).repo_info(repo, revision=revision, repo_type=repo_type, timeout=TIMEOUT_SECONDS)
        found = hf_hub_download(
            repo, name, revision=revision, repo_type=repo_type, endpoint=endpoint, cache_dir=_cache()
        )
        return Path(found)


def file(source: str) -> Path:
    """The file that `hf:org/name@revision/path` names (a data set's; `hf:models/…` a model's)."""
    match = SOURCE.fullmatch(source)
    if match is None:
        raise SourceFailure("expected hf:org/name@revision/path")
    model, repo, revision, name = match.groups()
    return download(repo, revision, name, "model" if model else "dataset")


def model_folder(repo: str, revision: str, chosen: Callable[[Sequence[str]], Sequence[str]]) -> Path:
    """A folder with the chosen files of a model's repository, from the hub or huggingface-hub's cache.

    `chosen` is given the names of all its files. Where the hub cannot be reached, the cached snapshot is
    given as it is. Raises SourceFailure.
    """
    try:
        with _explained():
            from huggingface_hub import HfApi, snapshot_download

            info = HfApi(_endpoint()).model_info(repo, revision=revision, timeout=TIMEOUT_SECONDS)
    except SourceFailure:
        held = _held(repo, revision)
        if held is None:
            raise
        return held
    wanted = chosen(sorted(sibling.rfilename for sibling in info.siblings or ()))
    with _explained():
        return Path(
            snapshot_download(
                repo,
                revision=revision,
                allow_patterns=[glob.escape(name) for name in wanted],
                endpoint=_endpoint(),
                cache_dir=_cache(),
            )
        )


def _cache_folder() -> Path:
    """Where huggingface-hub keeps what it fetched."""
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    return Path(_cache() or f"{home}/hub").expanduser()


def _held(repo: str, revision: str) -> Path | None:
    """The cached snapshot of a model, whole or not; None when there is none."""
    kept = _cache_folder() / f"models--{repo.replace('/', '--')}"
    reference = kept / "refs" / revision
    commit = reference.read_text(encoding="ascii").strip() if reference.is_file() else revision
    folder = kept / "snapshots" / commit
    return folder if folder.is_dir() else None


def snapshot_folder(path: str, revision: str) -> Path:
    """Where huggingface-hub keeps a data set at a commit, whether it has it or not."""
    return _cache_folder() / f"datasets--{path.replace('/', '--')}" / "snapshots" / revision


def repository(path: str, revision: str | None) -> Repository:
    """What a data set's repository holds, asked of the hub, else as it was when last asked.

    Raises SourceFailure.
    """
    record = cache_folder() / "hub" / f"{path}@{revision or 'main'}.json"
    try:
        found = _asked(path, revision)
    except SourceFailure as failure:
        if not record.is_file():
            raise
        try:
            return Repository(**json.loads(record.read_bytes()))
        except (ValueError, TypeError):
            raise failure from None
    written = json.dumps(asdict(found)).encode()
    store(Opened(io.BytesIO(written), len(written)), record, File("hub", record.name, ()), path)
    return found


def _asked(path: str, revision: str | None) -> Repository:
    check_may_fetch()
    with _explained():
        from huggingface_hub import HfApi

        info = HfApi(_endpoint()).dataset_info(path, revision=revision, timeout=TIMEOUT_SECONDS)
    names = sorted(sibling.rfilename for sibling in info.siblings or ())
    card = info.card_data.to_dict() if info.card_data else {}  # type: ignore[no-untyped-call]
    return Repository(path, info.sha or revision or "", names, {"configs": card.get("configs") or []})


def card_of(folder: Path) -> Mapping[str, Any]:
    """The metadata block of a folder's README.md; empty when there is none."""
    import yaml

    from resit import yamls

    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8", errors="replace") if readme.is_file() else ""
    block = re.match(r"---\r?\n(.*?)\r?\n---", text, re.DOTALL)
    try:
        found = yamls.load(block.group(1)) if block else {}
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def converted(repository_: Repository) -> Repository | None:
    """The hub's own parquet copy of a data set that is only a script, which is never run."""
    is_script = any(name.endswith(".py") for name in repository_.names)
    return repository(repository_.path, CONVERTED) if is_script else None
