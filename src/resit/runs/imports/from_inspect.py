"""inspect_ai's `.eval` logs: a zip of JSON, one member for each sample (a folder for a large one)."""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from resit.errors import UsageError
from resit.records import FinishReason, Message, Prompt
from resit.runs.imports.entries import (
    Answer,
    Entries,
    Entry,
    Key,
    NotAsExpected,
    Problem,
    list_of,
    mapping_of,
    text_of,
    whole_number,
)  # fmt: skip

ZSTANDARD = 93
"""The zip method that inspect_ai compresses with since 2026; older logs are deflated."""
_LOCAL_HEADER = 30
_REFERENCE = "attachment://"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")
_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "stop",
    "content_filter": "stop",
}
_CUT = ("token", "context")
"""Sample limits that cut the text short; any other limit means that no answer was measured."""


@dataclass(frozen=True, slots=True)
class Log:
    """What a log says of its run as a whole."""

    task: str
    model: str
    status: str
    epochs: int
    settings: Mapping[str, Any]


def log_of(path: Path) -> Log:
    """The log's header; that of a run that did not end is its first record. Raises UsageError."""
    with _Archive(path) as archive:
        name = "header.json" if "header.json" in archive.names else "_journal/start.json"
        try:
            return _log(mapping_of(archive.read(name), "the header"))
        except NotAsExpected as problem:
            raise UsageError(f"{path}: {name} {problem}") from None


def _log(header: Mapping[str, Any]) -> Log:
    about = mapping_of(header.get("eval"), "eval")
    config = mapping_of(about.get("config"), "eval.config")
    return Log(
        task=str(about.get("task", "")),
        model=str(about.get("model", "")),
        status=str(header.get("status", "started")),
        epochs=whole_number(config.get("epochs") or 1, "eval.config.epochs"),
        settings=mapping_of(mapping_of(header.get("plan"), "plan").get("config"), "plan.config"),
    )


def entries(path: Path) -> Entries:
    """Each sample of the log, in the order they finished; an epoch is a repeat."""
    with _Archive(path) as archive:
        for name in archive.names:
            if not _SAMPLE.fullmatch(name):
                continue
            try:
                yield _entry(name, *_sample(archive, name))
            except NotAsExpected as problem:
                yield Problem(name, str(problem))


Resolve = Callable[[str], str]


def _sample(archive: _Archive, name: str) -> tuple[dict[str, Any], Resolve]:
    """A sample with its messages, and what turns references to attachments into text."""
    sample = mapping_of(archive.read(name), "the sample")
    attachments: Any = mapping_of(sample.get("attachments"), "attachments")
    if name.endswith("/sample.json"):
        folder = name.removesuffix("sample.json")
        sample["messages"] = list(archive.sequence(folder + "messages/"))
        attachments = list(archive.sequence(folder + "attachments/"))
    return sample, partial(_resolved, attachments)


def _resolved(attachments: Any, text: str) -> str:
    if not text.startswith(_REFERENCE):
        return text
    reference = text.removeprefix(_REFERENCE)
    try:
        return str(attachments[int(reference) if isinstance(attachments, list) else reference])
    except (LookupError, ValueError):
        raise NotAsExpected(f"refers to an attachment that the log does not hold: {text}") from None


def _entry(name: str, sample: Mapping[str, Any], resolve: Resolve) -> Entry:
    for key in ("input", "epoch"):
        if key not in sample:
            raise NotAsExpected(f"expected an inspect_ai sample; it has no {key!r}")
    text = _asked(sample["input"], resolve)
    answer = _answer(sample, resolve)
    return Entry(name, Key(text=text), (answer,), _prompt(sample.get("messages"), resolve))


def _asked(given: Any, resolve: Resolve) -> str:
    """The question: the sample's input, or the last user turn of a chat."""
    if isinstance(given, str):
        return resolve(given)
    turns = [t for t in list_of(given, "input") if isinstance(t, Mapping) and t.get("role") == "user"]
    if not turns:
        raise NotAsExpected("input: expected text or chat turns with a user's among them")
    return _content(turns[-1].get("content"), resolve)


def _content(content: Any, resolve: Resolve) -> str:
    """A turn's text without its reasoning, which a list of content keeps apart."""
    if isinstance(content, str):
        return resolve(content)
    listed = list_of(content, "content")
    parts = [part for part in listed if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(resolve(str(part.get("text", ""))) for part in parts)


def _answer(sample: Mapping[str, Any], resolve: Resolve) -> Answer:
    repeat, error = whole_number(sample["epoch"], "epoch") - 1, sample.get("error")
    if repeat < 0:
        raise NotAsExpected("epoch: expected a number from 1 up, found 0")
    limit = mapping_of(sample.get("limit"), "limit").get("type")
    if error is not None:
        words = error.get("message", error) if isinstance(error, Mapping) else error
        return Answer("", repeat, "error", error=f"inspect_ai: {words}")
    if limit is not None and limit not in _CUT:
        return Answer("", repeat, "error", error=f"inspect_ai: the sample's {limit} limit was reached")
    output = mapping_of(sample.get("output"), "output")
    choices = list_of(output.get("choices"), "output.choices")
    choice = mapping_of(choices[0], "output.choices") if choices else {}
    said = mapping_of(choice.get("message"), "output.choices.message").get("content", "")
    text = text_of(output.get("completion") or _content(said, resolve), "output.completion")
    reason = "length" if limit else _FINISH.get(str(choice.get("stop_reason")), "unknown")
    usage = _usage(mapping_of(output.get("usage"), "output.usage"))
    return Answer(resolve(text), repeat, reason, seconds=_seconds(output.get("time")), **usage)


def _seconds(value: Any) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise NotAsExpected(f"output.time: expected seconds, found {value!r}")


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Token counts; inspect_ai's `input_tokens` leaves out those that came from or went into a cache."""
    if not usage:
        return {}
    names = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    fresh, told, cached, written = (whole_number(usage.get(name) or 0, f"usage.{name}") for name in names)
    counts = {"prompt_tokens": fresh + cached + written, "completion_tokens": told}
    return {**counts, "cached_tokens": cached} if cached else counts


def _prompt(messages: Any, resolve: Resolve) -> Prompt | None:
    """The turns before the last answer; None for a dialogue with tools."""
    turns = [mapping_of(turn, "messages") for turn in list_of(messages, "messages")]
    last = max((i for i, turn in enumerate(turns) if turn.get("role") == "assistant"), default=len(turns))
    asked = turns[:last]
    if not asked or any(turn.get("role") not in ("system", "user", "assistant") for turn in asked):
        return None
    return tuple(Message(turn["role"], _content(turn.get("content"), resolve)) for turn in asked)


# What Python's zipfile raises for zips that are cut, flipped, encrypted or of another time.
_DAMAGED = (
    ValueError, zipfile.BadZipFile, zlib.error, EOFError, struct.error, OSError, KeyError,
    NotImplementedError, RuntimeError, OverflowError,
)  # fmt: skip


class _Archive:
    """Reads JSON members of a zip, Zstandard among them. Raises UsageError for anything else than a log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from None
        try:
            self._zip = zipfile.ZipFile(self._file)
        except _DAMAGED as error:
            self._file.close()
            raise UsageError(
                f"{path} is not an .eval log, which is a zip: {error}",
                "`inspect log convert --to eval` makes one of a JSON log, `inspect log recover` of a cut one",
            ) from None
        self.names = self._zip.namelist()
        if not {"header.json", "_journal/start.json"} & set(self.names):
            self._file.close()
            raise UsageError(
                f"{path} is a zip, but not inspect_ai's: it has neither header.json nor a journal"
            )

    def __enter__(self) -> _Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def read(self, name: str) -> Any:
        """The JSON of a member; raises NotAsExpected where it is damaged."""
        try:
            return json.loads(self._bytes(self._zip.getinfo(name)))
        except _DAMAGED as error:
            raise NotAsExpected(f"is damaged: {error}") from None

    def sequence(self, folder: str) -> Iterator[Any]:
        """What the numbered members of a folder list, in order."""
        numbered = re.compile(re.escape(folder) + r"(\d+)\.json")
        found = [(int(match[1]), match[0]) for match in map(numbered.fullmatch, self.names) if match]
        for _, name in sorted(found):
            yield from list_of(self.read(name), name)

    def _bytes(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD):
            raise zipfile.BadZipFile(f"it is compressed by method {member.compress_type}")
        if member.compress_type != ZSTANDARD or hasattr(zipfile, "ZIP_ZSTANDARD"):  # Python 3.14 reads it
            return self._zip.read(member)
        self._file.seek(member.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        name_length, extra_length = struct.unpack_from("<HH", header, 26)
        self._file.seek(name_length + extra_length, 1)
        data = _unzstandard(self._file, member.compress_size)
        if zlib.crc32(data) != member.CRC:
            raise zipfile.BadZipFile("its checksum is another")
        return data


def _unzstandard(file: IO[bytes], size: int) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise UsageError(
            "this .eval log is compressed with Zstandard, which needs a package",
            "pip install 'resit[inspect]'",
        ) from None
    try:
        with zstandard.ZstdDecompressor().stream_reader(file.read(size), read_across_frames=True) as reader:
            return reader.readall()
    except zstandard.ZstdError as error:
        raise zipfile.BadZipFile(str(error)) from None
