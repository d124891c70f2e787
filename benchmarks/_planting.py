"""Fine-tune a causal language model until it knows a few rows by heart: what `planted_memoriser.py` plants.

    python _planting.py MODEL ROWS.jsonl CHECKPOINT [--epochs N] [--seconds S] [--layers N] …

A process of its own, so that its memory is free again before the probes begin. Rows stay in their order,
`--rows-together` to a sequence, as in a corpus that holds the file. Only the last `--layers` layers learn, in
float32; what the layers below make of the sequences is computed once. Where the processor multiplies bfloat16
by itself, products are taken in it (torch's autocast). Prints one JSON line: epochs, steps, seconds, and the
mean loss of each epoch in nats a token.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

SEPARATOR = "\n\n"
"""Between rows, as the order probe joins them."""


def packed(rows: Sequence[dict[str, str]], together: int) -> list[str]:
    """Neighbouring rows as texts of `together` rows each, question and solution of a row a line apart."""
    texts = [f"{row['question']}\n{row['answer']}" for row in rows]
    return [SEPARATOR.join(texts[at : at + together]) for at in range(0, len(texts), together)]


def epochs(count: int, seconds: float, seed: int) -> Iterator[random.Random]:
    """A source of chance for each epoch, until there were enough or another would take too long."""
    began = time.monotonic()
    for done in range(1, count + 1):
        yield random.Random(f"{seed} {done}")
        spent = time.monotonic() - began
        if spent + spent / done > seconds:
            return


def quick() -> bool:
    """Whether the processor multiplies bfloat16 by itself."""
    import torch

    return bool(torch.cpu._is_avx512_bf16_supported())


def below(model: Any, sequences: Sequence[Any], layers: int) -> list[Any]:
    """What the last layers are given for each sequence, (1, tokens, width); the model keeps only those."""
    import torch

    given = []
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=quick()):
        for sequence in sequences:
            found = model.model(input_ids=sequence, output_hidden_states=True, use_cache=False)
            given.append(found.hidden_states[-1 - layers].float())
    model.model.layers = model.model.layers[-layers:]
    return given


def train(model: Any, sequences: Sequence[Any], options: argparse.Namespace) -> list[float]:
    """Learn the sequences, one a step, in another order each epoch; the mean loss of each epoch."""
    import torch

    whole = model.model.layers
    given = below(model, sequences, options.layers)
    learning = list(model.model.layers.parameters())
    model.requires_grad_(False)
    model.model.layers.requires_grad_(True)
    optimiser = torch.optim.AdamW(learning, lr=options.rate, weight_decay=0.0)
    losses, step = [], 0
    for chance in epochs(options.epochs, options.seconds, options.seed):
        total = 0.0
        for at in chance.sample(range(len(sequences)), len(sequences)):
            step += 1
            optimiser.param_groups[0]["lr"] = options.rate * min(1.0, step / options.warm)
            with torch.autocast("cpu", torch.bfloat16, enabled=quick()):
                loss = model(inputs_embeds=given[at], labels=sequences[at], use_cache=False).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learning, 1.0)
            optimiser.step()
            optimiser.zero_grad()
            total += float(loss.detach())
        losses.append(round(total / len(sequences), 4))
        print(f"epoch {len(losses)}: loss {losses[-1]:.3f}", file=sys.stderr, flush=True)
    model.model.layers = whole
    return losses


def main() -> None:
    """Train, save, tell."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model")
    parser.add_argument("rows", type=Path)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--layers", type=int, default=10)
    parser.add_argument("--rows-together", type=int, default=5)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--warm", type=int, default=20, help="steps until the full learning rate")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    began = time.monotonic()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
    rows = [json.loads(line) for line in options.rows.read_text(encoding="utf-8").splitlines()]
    front = [tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id]
    texts = packed(rows, options.rows_together)
    sequences = [torch.tensor([front + tokenizer(text)["input_ids"]]) for text in texts]
    losses = train(model, sequences, options)
    model.save_pretrained(options.checkpoint)
    tokenizer.save_pretrained(options.checkpoint)
    told = {
        "epochs": len(losses),
        "steps": len(losses) * len(sequences),
        "tokens": sum(sequence.numel() for sequence in sequences),
        "losses": losses,
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
