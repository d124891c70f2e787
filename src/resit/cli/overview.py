"""What `resit` says when it is told nothing."""

from __future__ import annotations

JOBS = {
    "Ask": {
        "run": "generate what tasks ask of a model, and score it",
        "prompts": "what a model is given, byte for byte",
        "plan": "tokens, time and cost of a run, before it is made",
        "merge": "join the shards of a run",
        "doctor": "what a server supports, and how fast it is",
    },
    "Score": {
        "score": "grade stored answers again, without a model",
        "grade": "why one answer is right or wrong",
        "verifier": "train a model that judges solutions, choose by it",
    },
    "Say what it means": {
        "compare": "two runs on the same questions",
        "gap": "seen questions against fresh ones",
        "gate": "pass or fail, for a release",
        "power": "what a design can see, how many questions it needs",
        "memorisation": "whether a model has seen its exam",
        "probe": "how likely texts are; test questions in training text",
    },
    "Show": {
        "report": "one file with every score and every answer",
        "view": "all runs in a browser, also while they run",
        "export": "a run for other programs",
        "import": "other programs' answers as a run",
    },
    "Look up": {
        "tasks": "the protocols, and whether a task file holds together",
        "data": "data sets and models: licence, source, digest",
        "check": "preflight: catalogue, exemplars, right answers, docs",
    },
}
"""Verbs by job, in the order in which they are met."""

FIRST = (
    "resit run -M llamacpp -a pretrained=smollm2-135m -t gsm_fresh --limit 16",
    "resit tasks list",
    "resit view",
)


def overview(version: str) -> str:
    """The page as text, at most 80 columns wide."""
    lines = [f"Resit {version}: a language model resits its maths exam.", "", "Begin with"]
    lines += [f"  {command}" for command in FIRST]
    for job, verbs in JOBS.items():
        lines += ["", job, *(f"  resit {verb:13} {what}" for verb, what in verbs.items())]
    lines += ["", "`resit VERB --help` has each verb's options, and commands to copy."]
    return "\n".join(lines)
