"""lm-eval's output files, field by field, hash by hash: results_<time>.json, samples_<task>_<time>.jsonl."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from resit.jsonl import cannot_write
from resit.records import Question
from resit.reports.graded import Graded

_NO_FILE_NAME = re.compile(r'["<>:/|\\?*\[\]]+')


@dataclass(frozen=True, slots=True)
class Samples:
    """A samples file that was written."""

    path: Path
    task_hash: str
    """lm-eval's `task_hashes` entry: of what was asked, whatever was answered."""
    left_out: int
    """Questions of which no sample was measured; lm-eval's shape has no place for them."""


def file_time(created: str) -> str:
    """A run's time of creation as lm-eval writes it into file names."""
    moment = datetime.fromisoformat(created).astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds").replace(":", "-")


def sanitized(model: str) -> str:
    """The model's name as lm-eval makes a folder's of it."""
    return _NO_FILE_NAME.sub("__", model)


def write_samples(
    path: Path, graded: Iterable[Graded], filters: Sequence[str], settings: Mapping[str, Any]
) -> Samples:
    """One line for each filter and document, filter by filter. Raises ResitError when the disk refuses.

    `settings` are the generation settings in lm-eval's words. Samples that errored are left out.
    """
    hashes: list[str] = []
    left_out = 0
    try:
        with contextlib.ExitStack() as stack:
            parts = {name: stack.enter_context(tempfile.TemporaryFile()) for name in filters}
            for item in graded:
                texts = [g.text for g in item.generations if g.error is None]
                if not texts:
                    left_out += 1
                    continue
                about = _about(item.question, texts, settings)
                hashes.append("".join(_hashes(item.question).values()))
                for name, part in parts.items():
                    part.write(_line({**about, **_verdict(item, name), **_hashes(item.question)}, item, name))
            with path.open("wb") as file:
                for part in parts.values():
                    _append(part, file)
    except OSError as error:
        raise cannot_write(path, error) from error
    return Samples(path, _sha256("".join(hashes * len(filters))), left_out)


def _append(part: IO[bytes], file: IO[bytes]) -> None:
    part.seek(0)
    shutil.copyfileobj(part, file)


def _about(question: Question, texts: Sequence[str], settings: Mapping[str, Any]) -> dict[str, Any]:
    prompt = question.prompt
    argument = prompt if isinstance(prompt, str) else [_chat(question)]
    return {
        "doc_id": question.document.doc_id,
        "doc": dict(question.document.fields),
        "target": _target(question),
        "arguments": {"gen_args_0": {"arg_0": argument, "arg_1": dict(settings)}},
        "resps": [list(texts)],
    }


def _chat(question: Question) -> str:
    """The turns as lm-eval hands them to a server."""
    return json.dumps(
        [asdict(turn) for turn in question.prompt if not isinstance(turn, str)], ensure_ascii=False
    )


def _target(question: Question) -> str:
    return question.target if isinstance(question.target, str) else str(list(question.target))


def _hashes(question: Question) -> dict[str, str]:
    prompt = question.prompt if isinstance(question.prompt, str) else _chat(question)
    return {
        "doc_hash": question.document.doc_hash.partition("#")[0],
        "prompt_hash": _sha256(prompt),
        "target_hash": _sha256(_target(question)),
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _verdict(item: Graded, name: str) -> dict[str, Any]:
    """The answer after the filter's whole chain; none where lm-eval would have ended the run."""
    answers = [item.score.answers[name]] if name in item.score.answers else []
    filtered = [[str(part) for part in a] if isinstance(a, list) else str(a) for a in answers]
    return {"filtered_resps": filtered, "filter": name, "metrics": [*_metrics(item, name)]}


def _metrics(item: Graded, name: str) -> dict[str, float]:
    split = ((key.partition(","), value) for key, value in item.score.metrics.items())
    return {metric: value for (metric, _, chain), value in split if chain == name}


def _line(about: Mapping[str, Any], item: Graded, name: str) -> bytes:
    line = {**about, **_metrics(item, name)}
    try:
        return json.dumps(line, ensure_ascii=False, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate
        return json.dumps(line, default=str).encode() + b"\n"


def lm_eval_settings(sampling: Mapping[str, Any]) -> dict[str, Any]:
    """Resolved sampling settings in lm-eval's words."""
    optional = ("top_p", "top_k", "min_p", "repetition_penalty")
    return {
        "until": list(sampling["stop"]),
        "max_gen_toks": sampling["max_tokens"],
        "do_sample": sampling["temperature"] > 0,
        "temperature": sampling["temperature"],
        **{name: sampling[name] for name in optional if sampling.get(name) is not None},
        **sampling.get("extra", {}),
    }


def lm_eval_results(
    record: Mapping[str, Any], results: Mapping[str, Any], samples: Mapping[str, Samples]
) -> dict[str, Any]:
    """The content of lm-eval's results file; what Resit adds stays under `resit`."""
    model = record.get("model", {}).get("name") or ""
    chat = record["identity"].get("chat")
    return {
        **{name: value for name, value in results.items() if name != "resit"},
        "date": datetime.fromisoformat(record["created"]).timestamp(),
        "task_hashes": {task: written.task_hash for task, written in samples.items()},
        "model_source": results["config"].get("model"),
        "model_name": model,
        "model_name_sanitized": sanitized(model),
        "system_instruction": record["identity"].get("system_instruction"),
        "fewshot_as_multiturn": chat["fewshot_as_multiturn"] if chat else None,
        "resit": results["resit"],
    }
