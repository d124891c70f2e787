"""Writes the logs under tests/runs/foreign with the programs they are of, from the suite's own sums.

    python make_foreign_logs.py lm-eval tests/runs/foreign    needs lm_eval==0.4.13 and datasets
    python make_foreign_logs.py inspect tests/runs/foreign    needs inspect_ai (0.3.285 was used)

The models are scripted; the files are what the programs make of them. Run it from a copy outside of any
checkout: a traceback in a log names the script's folder.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROWS = [
    {"question": "What is 1 + 1?", "answer": "One and one are two – deux.\n#### 2"},
    {"question": "What is 600 + 600?", "answer": "#### 1,200"},
    {"question": "What is 3 + 3?", "answer": "#### 6"},
    {"question": "What is 3 + 3?", "answer": "#### 6"},
]
TEXTS = [" So 2.\n#### 2", " It is é 1,200", "#### 1200", "no idea", " #### 6", "7", "", "#### 6 \u2028 x"]


def lm_eval_logs(out: Path) -> None:
    """samples_sums_<time>.jsonl as plain text, and as chat for a server, two repeats, two filters."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.models.api_models import JsonChatStr
    from lm_eval.tasks import TaskManager

    class Scripted(LM):  # type: ignore[misc]
        tokenizer_name = "none"

        def loglikelihood(self, requests: Any) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: Any) -> Any:
            raise NotImplementedError

        def apply_chat_template(self, chat_history: Any, add_generation_prompt: bool = True) -> Any:
            return JsonChatStr(json.dumps(chat_history, ensure_ascii=False))

        def generate_until(self, requests: Any) -> list[str]:
            return [TEXTS[index % len(TEXTS)] for index in range(len(requests))]

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "sums.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
        task = (out / "sums.yaml").read_text(encoding="utf-8").replace("SUMS", str(data))
        (Path(folder) / "sums.yaml").write_text(task, encoding="utf-8")
        manager = TaskManager(include_defaults=False, include_path=folder)
        for chat in (False, True):
            results = lm_eval.simple_evaluate(
                model=Scripted(), tasks=["sums"], task_manager=manager, log_samples=True,
                apply_chat_template=chat, fewshot_as_multiturn=chat,
                system_instruction="Be brief." if chat else None,
            )  # fmt: skip
            samples = results.pop("samples")
            tracker = EvaluationTracker(output_path=folder + ("/chat" if chat else "/plain"))
            tracker.general_config_tracker.model_name_sanitized = "scripted"
            tracker.save_results_aggregated(results=results, samples=samples)
            tracker.save_results_samples(task_name="sums", samples=samples["sums"])
            target = out / ("lm_eval_chat" if chat else "lm_eval")
            target.mkdir(exist_ok=True)
            for kind in ("samples", "results"):
                (written,) = Path(tracker.output_path, "scripted").glob(f"{kind}_*")
                time = "2026-11-30T10-38-58.490896"
                name = f"samples_sums_{time}.jsonl" if kind == "samples" else f"results_{time}.json"
                text = written.read_text(encoding="utf-8").replace(folder, "")
                (target / name).write_text(text, encoding="utf-8")


def inspect_logs(out: Path) -> None:
    """sums.eval: two epochs, an errored sample, a cut one, reasoning; and the same with chunked samples."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.log._recorders.chunked import convert_eval_logs_to_chunked
    from inspect_ai.model import (
        ChatMessageAssistant,
        ContentReasoning,
        ContentText,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate, system_message

    def answer(messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        question = messages[-1].content
        reply = ModelOutput.from_content(
            "mockllm/model", f"Working.\n\n#### {'1,200' if '600' in question else 6}"
        )
        if "1 + 1" in question:
            reply.choices[0].stop_reason = "max_tokens"
        if "600" in question:
            content = [
                ContentReasoning(reasoning="600 twice … " * 20),
                ContentText(text="Indeed. " * 20 + "#### 1,200"),
            ]
            reply.choices[0].message = ChatMessageAssistant(
                content=content, source="generate", model="mockllm/model"
            )
            reply.completion = ""
        if "3 + 3" in question and not failed:
            failed.append(question)
            raise RuntimeError("server down")
        reply.usage = ModelUsage(
            input_tokens=50, output_tokens=21, total_tokens=82, input_tokens_cache_read=11
        )
        return reply

    failed: list[str] = []
    # the order and the ids are not those of the data set
    rows = [(f"r{row}", ROWS[row]) for row in (2, 0, 1, 3)]
    samples = [
        Sample(id=name, input=row["question"], target=row["answer"].split("#### ")[-1]) for name, row in rows
    ]
    task = Task(
        MemoryDataset(samples),
        solver=[system_message("Be brief."), generate()],
        scorer=match(numeric=True),
        epochs=2,
    )
    with tempfile.TemporaryDirectory() as folder:
        eval(
            task, model=get_model("mockllm/model", custom_outputs=answer), log_dir=folder + "/logs",
            fail_on_error=False, max_tokens=100, temperature=0.5, display="none", max_samples=1,
        )  # fmt: skip
        (log,) = Path(folder, "logs").glob("*.eval")
        convert_eval_logs_to_chunked(str(log), folder + "/chunked")
        shutil.copy(log, out / "sums.eval")
        shutil.copy(Path(folder, "chunked", log.name), out / "sums_chunked.eval")


if __name__ == "__main__":
    {"lm-eval": lm_eval_logs, "inspect": inspect_logs}[sys.argv[1]](Path(sys.argv[2]))
