"""Compares Resit's prompts with lm-eval's own, for families of task files of the lm-eval wheel.

    python tests/reference/compare_prompts.py [FAMILY…] [--catalogue] [--markdown] [--record]

Needs one environment that holds Resit and `lm_eval[api,math]==0.4.13`. Both read the same task files, out of
the installed lm-eval, over synthetic documents with the columns of the real data sets, copies of documents
among them; every document's prompt and reference is compared in six ways of asking. Exit status 1 when
anything differs. `--catalogue` compares Resit's own task files with those of lm-eval that they follow;
`--record` writes down what lm-eval makes of `tests/prompts/dialect/*.yaml`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]
Asked = list[tuple[Any, Any]]
"""(prompt, reference) of every document; a chat prompt is [messages, add_generation_prompt]."""

SEED = 1234
DOCUMENTS = 7
DIALECT = Path(__file__).parents[1] / "prompts" / "dialect"
"""Small task files of our own, at least one for each rule of the dialect."""


def wheel_tasks() -> Path:
    """lm-eval's task folder in this environment."""
    spec = importlib.util.find_spec("lm_eval")
    if spec is None or spec.origin is None:
        sys.exit("lm_eval is not installed in this environment: pip install 'lm_eval[api,math]==0.4.13'")
    return Path(spec.origin).parent / "tasks"


def _gsm(i: int, split: str) -> Row:
    return {"question": f"Mo has {i} figs and {split} more?", "answer": f"It is {i}.\n#### {i},000"}


def _gsm_plus(i: int, split: str) -> Row:
    return {**_gsm(i, split), "solution": f"So {i}.\n#### {i}", "perturbation_type": "none"}


def _mgsm(i: int, split: str) -> Row:
    worked = f"Schritt-für-Schritt-Antwort: {i} und {i} ist {2 * i}." if split == "train" else None
    asked = f"Frage: Wie viele sind {i}?" if split == "train" else f"Wie viele sind {i}?"
    return {"question": asked, "answer": worked, "answer_number": 2 * i, "equation_solution": None}


def _asdiv(i: int, split: str) -> Row:
    return {"body": f"Ann has {i} pens.", "question": "How many?", "answer": f"{i} (pens)", "formula": "-"}


def _aime24(i: int, split: str) -> Row:
    return {"ID": f"2024-{i}", "Problem": f"Find ${i}^2$.", "Solution": f"{i}", "Answer": i * i}


def _aime(i: int, split: str) -> Row:
    return {"ID": f"1983-{i}", "Year": 1983, "Question": f"Find ${i}^2$.", "Answer": str(i * i)}


def _aime25(i: int, split: str) -> Row:
    return {"problem": f"Find ${i}^2$.", "answer": str(i * i), "id": str(i)}


def _math(i: int, split: str) -> Row:
    solution = f"Square it: $\\boxed{{\\frac{{{i}}}{{7}}}}$."
    return {"problem": f"What is ${i}/7$?", "level": "Level 1", "type": "Algebra", "solution": solution}


def _math500(i: int, split: str) -> Row:
    return {**_math(i, split), "answer": f"\\frac{{{i}}}{{7}}", "subject": "Algebra", "unique_id": str(i)}


def _hrm8k(i: int, split: str) -> Row:
    return {"question": f"사과 {i}개?", "answer": float(i), "original": f"{i} apples? \n1. A\n2. B"}


def _metabench(i: int, split: str) -> Row:
    keys = ("prompt", "answer", "idx")
    shots = {f"gsm8k_{key}_shot_{n}": f"{key} {n}" for n in range(1, 6) for key in keys}
    return {**_gsm(i, split), **shots, "allfiveshot_longprompt": "-"}


class Family(NamedTuple):
    """Task files of one kind, and what the rows of their data sets look like."""

    pattern: str
    """Below lm-eval's task folder."""
    row: Callable[[int, str], Row] | None = None
    """From number and split to a row; None: the rows stand in a file."""
    others: Mapping[str, Callable[[int, str], Row]] = {}
    """The same for files whose columns differ, by the end of their name."""


DIALECT_FAMILY = "dialect (our own files)"
FAMILIES: Mapping[str, Family] = {
    "gsm8k": Family("gsm8k/*.yaml", _gsm),
    "gsm8k_platinum": Family("gsm8k_platinum/*.yaml", _gsm),
    "gsm_plus": Family("gsm_plus/*.yaml", _gsm_plus),
    "mgsm": Family("mgsm/*/*.yaml", _mgsm),
    "asdiv_cot_llama": Family("asdiv/asdiv-cot-llama.yaml", _asdiv),
    "aime": Family("aime/*.yaml", _aime, {"24.yaml": _aime24, "25.yaml": _aime25}),
    "minerva_math": Family("minerva_math/*.yaml", _math, {"500.yaml": _math500}),
    "hendrycks_math": Family("hendrycks_math/*.yaml", _math, {"500.yaml": _math500}),
    "llama3 gsm8k": Family("llama3/instruct/gsm8k/*.yaml", _gsm),
    "hrm8k": Family("hrm8k/*/*.yaml", _hrm8k),
    "metabench_gsm8k": Family("metabench/metabench_gsm8k*.yaml", _metabench),
    DIALECT_FAMILY: Family("*.yaml"),
}

WAYS: Mapping[str, Mapping[str, Any]] = {
    "plain": {},
    "system": {"system_instruction": "SYS"},
    "chat, turns": {"apply_chat_template": True, "fewshot_as_multiturn": True},
    "chat, one turn": {"apply_chat_template": True, "fewshot_as_multiturn": False},
    "chat, system": {
        "apply_chat_template": True,
        "fewshot_as_multiturn": True,
        "system_instruction": "SYS",
    },
    "2 exemplars": {"num_fewshot": 2},
}


def files_of(family: Family) -> list[Path]:
    """The family's task files, groups among them."""
    return sorted((wheel_tasks() if family.row else DIALECT).glob(family.pattern))


def rows(family: Family, file: Path, split: str) -> list[Row]:
    """The rows of a split; the second and the last are the same, so that copies are met."""
    if family.row is None:
        recorded: list[Row] = json.loads((DIALECT / "rows.json").read_text(encoding="utf-8"))[split]
        return recorded
    make = next((row for end, row in family.others.items() if file.name.endswith(end)), family.row)
    return [make(1 if i == DOCUMENTS - 1 else i, split) for i in range(DOCUMENTS)]


def lm_eval_prompts(file: Path, family: Family, way: Mapping[str, Any]) -> Asked:
    """What lm-eval asks."""
    import datasets
    from lm_eval.tasks import TaskManager

    class Splits(dict[str, Any]):
        def __missing__(self, split: str) -> Any:
            return datasets.Dataset.from_list(rows(family, file, split))

    datasets.load_dataset = lambda *args, **kwargs: Splits()
    manager = TaskManager(include_path=str(file.parent), include_defaults=False)
    (task,) = manager.load([str(file)])["tasks"].values()
    options = {"fewshot_as_multiturn": False, **way}
    _set_shots(task, options.pop("num_fewshot", None))
    task.set_fewshot_seed(seed=SEED)
    if options.get("apply_chat_template"):
        options |= {"chat_template": _recorded, "tokenizer_name": "recorded"}
    task.build_all_requests(**options)
    first = {instance.doc_id: instance for instance in reversed(task.instances)}
    return [_asked(first[i], task) for i in sorted(first)]


def _set_shots(task: Any, override: int | None) -> None:
    own = task.get_config("num_fewshot")
    if override is not None and own != 0:
        task.set_config(key="num_fewshot", value=override)
    elif own is None:
        task.set_config(key="num_fewshot", value=0)


def _recorded(messages: list[Row], add_generation_prompt: bool = True) -> str:
    return "CHAT" + json.dumps([messages, add_generation_prompt])


def _asked(instance: Any, task: Any) -> tuple[Any, Any]:
    prompt, target = instance.args[0], task.doc_to_target(instance.doc)
    if task.config.doc_to_choice is not None:
        target = task.doc_to_choice(instance.doc)[target]
    reference = list(map(str, target)) if task.multiple_target else str(target)
    return json.loads(prompt[4:]) if prompt.startswith("CHAT") else prompt, reference


def our_prompts(name: str, file: Path, family: Family, way: Mapping[str, Any]) -> Asked:
    """What Resit asks when a task of that name is fed the rows of the family's file."""
    from resit import prompts, tasks

    def reader(path: str, name: str | None, split: str, **options: Any) -> list[Row]:
        return rows(family, file, split)

    (task,) = tasks.load([name], trust_task_code=True, reader=reader)
    options = dict(way)
    flags = (options.pop("apply_chat_template", False), options.pop("fewshot_as_multiturn", None))
    asked = prompts.questions(task, seed=SEED, chat=prompts.chat_options(*flags), **options)
    return [(_plain(question.prompt), _listed(question.target)) for question in asked]


def _plain(prompt: Any) -> Any:
    if isinstance(prompt, str):
        return prompt
    messages = [{"role": message.role, "content": message.content} for message in prompt]
    return [messages, messages[-1]["role"] != "assistant"]


def _listed(target: str | tuple[str, ...]) -> Any:
    return target if isinstance(target, str) else list(target)


def differences(name: str, file: Path, family: Family) -> Iterator[str]:
    """What is not the same, or cannot be made, in each way of asking."""
    for called, way in WAYS.items():
        try:
            theirs, ours = lm_eval_prompts(file, family, way), our_prompts(name, file, family, way)
        except Exception as error:
            yield f"{called}: {type(error).__name__}: {error}"
            continue
        wrong = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
        if wrong:
            yield f"{called}: document {wrong[0]}: ours {ours[wrong[0]]!r}, lm-eval's {theirs[wrong[0]]!r}"


def is_group(file: Path) -> bool:
    """Whether a file describes a group, which has members and no prompts."""
    return any(line.startswith("group:") for line in file.read_text(encoding="utf-8").splitlines())


def group_differences(file: Path) -> Iterator[str]:
    """Whether both find the same members of a group, each a task that loads."""
    from lm_eval.tasks import TaskManager

    from resit import tasks

    index = TaskManager(include_path=str(file.parent), include_defaults=False).task_index
    found = tasks.select([str(file)], include_path=file.parent, trust_task_code=True)
    (ours,) = found.groups
    theirs = index[ours.name].cfg["task"]
    if list(ours.members) != theirs or [task.name for task in found.tasks] != theirs:
        yield f"members: ours {ours.members}, lm-eval's {theirs}"


def record() -> None:
    """Write down what lm-eval makes of our own files, for the tests that run without it."""
    family = FAMILIES[DIALECT_FAMILY]
    made = {
        file.stem: {name: _recordable(lm_eval_prompts(file, family, way)) for name, way in WAYS.items()}
        for file in files_of(family)
    }
    content = {"lm_eval": "0.4.13", "seed": SEED, "ways": WAYS, "prompts": made}
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    (DIALECT / "expected.json").write_text(text, encoding="utf-8")


def _recordable(asked: Asked) -> dict[str, Any]:
    """The first document in full, and a digest of each."""
    texts = (json.dumps(pair, ensure_ascii=False).encode() for pair in asked)
    return {"first": asked[0], "sha256": [hashlib.sha256(text).hexdigest()[:16] for text in texts]}


def compare(name: str) -> dict[str, list[str]]:
    """What differs, by file of the family."""
    family = FAMILIES[name]
    return {
        str(file): list(group_differences(file) if is_group(file) else differences(str(file), file, family))
        for file in files_of(family)
    }


def compare_catalogue() -> dict[str, list[str]]:
    """What differs, by task of Resit's catalogue that follows one of lm-eval's files."""
    from resit import tasks

    found = {}
    for task in tasks.load(list(tasks.index())):
        reference = task.config.resit.reference
        if reference and reference.file.startswith("lm_eval/tasks/") and "lm-eval 0.4.13" in reference.pinned:
            file = wheel_tasks().parents[1] / reference.file
            family = next(family for family in FAMILIES.values() if family.row and file in files_of(family))
            found[task.name] = list(differences(task.name, file, family))
    return found


def report(title: str, found: Mapping[str, list[str]], markdown: bool) -> bool:
    """Print one line, and on stderr what differs; whether nothing does."""
    passed = sum(not wrong for wrong in found.values())
    print(f"| {title} | {passed} of {len(found)} |" if markdown else f"{title}: {passed} of {len(found)}")
    for name, wrong in found.items():
        for line in wrong:
            print(f"  {name}: {line}", file=sys.stderr)
    return passed == len(found) > 0


def main() -> int:
    """Compare the families asked for; 1 when any of them differs."""
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("family", nargs="*", help=f"default: all of {', '.join(FAMILIES)}")
    parser.add_argument("--catalogue", action="store_true", help="compare Resit's own files instead")
    parser.add_argument("--record", action="store_true", help="write expected.json of our own files first")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/tasks.md")
    options = parser.parse_args()
    os.environ["TQDM_DISABLE"] = "1"
    logging.disable(logging.CRITICAL)
    if options.record:
        record()
    if options.catalogue:
        return 0 if report("Resit's catalogue", compare_catalogue(), options.markdown) else 1
    passed = [report(name, compare(name), options.markdown) for name in options.family or FAMILIES]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
