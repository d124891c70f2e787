"""Find the GSM8K test question that each template of reasoning-gym's gsm_symbolic descends from.

    RESIT_MIRROR=… python tests/reference/match_templates.py > src/resit/assets/templates.yaml

Numbers and names are what a template varies, so only words count, each by how rare it is among the 1319
questions: the cosine of a variant's words with every question's. A match is written down when several
variants agree on one question and the next best is far off; the two similarities are the evidence.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter, defaultdict

from resit.assets import rows
from resit.assets.fresh import BARE_NUMBER_REQUEST, GENERATOR, generator

VARIANTS = 8
CLEAR = 1.25
"""How much more similar than the next question the match must be, and in every variant."""
HEADER = """\
# Which row of GSM8K's test split each template of reasoning-gym's gsm_symbolic was made from, with the
# evidence: similarity of the words (cosine, rare words count more) to that question, and to the next best
# one; the least of 8 variants. Written by tests/reference/match_templates.py.
"""

Vector = dict[str, float]


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]+", text.lower()))


def cosine(a: Vector, b: Vector) -> float:
    dot = sum(value * b.get(word, 0.0) for word, value in a.items())
    return dot / math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))


def main() -> None:
    questions = [row["question"] for row in rows("openai/gsm8k", "main", "test")]
    seen_in = Counter(word for question in questions for word in words(question))

    def vector(text: str) -> Vector:
        return {word: math.log(1 + len(questions) / (1 + seen_in[word])) for word in words(text)}

    vectors = [vector(question) for question in questions]
    variants = defaultdict(list)
    items = generator().create_dataset(GENERATOR, seed=1, size=4000)
    for index, template in enumerate(items.task_indices):
        if len(variants[template]) < VARIANTS:
            variants[template].append(items[index]["question"].removesuffix(BARE_NUMBER_REQUEST))
    print(HEADER, end="")
    for template, texts in sorted(variants.items()):
        found = []
        for text in texts:
            own = vector(text)
            ranked = sorted(((cosine(own, other), row) for row, other in enumerate(vectors)), reverse=True)
            found.append((*ranked[0], ranked[1][0]))
        if len({row for _, row, _ in found}) > 1 or any(best < CLEAR * second for best, _, second in found):
            print(f"# {template}: no question stands out")
            continue
        best, row, second = min(found)
        digest = hashlib.sha256(questions[row].encode()).hexdigest()[:16]
        print(f"{template}: {{row: {row}, question: {digest}, similarity: {best:.2f}, next: {second:.2f}}}")


if __name__ == "__main__":
    main()
