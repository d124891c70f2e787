"""Rows with the few methods of `datasets.Dataset` that task files' `process_docs` use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]


class RowSet(list[Row]):
    """Rows of a split, in order; every method returns a new set and leaves the rows alone."""

    @property
    def column_names(self) -> list[str]:
        """The columns, in the order of the first row."""
        return list(self[0]) if self else []

    def map(self, function: Callable[..., Row | None], with_indices: bool = False, **ignored: Any) -> RowSet:
        """Each row, as the function leaves it, updated with what the function returns for it."""
        return RowSet(
            _mapped(function, dict(row), *([i] if with_indices else [])) for i, row in enumerate(self)
        )

    def filter(self, function: Callable[..., bool], with_indices: bool = False, **ignored: Any) -> RowSet:
        """The rows for which the function is true."""
        return RowSet(
            row for i, row in enumerate(self) if (function(row, i) if with_indices else function(row))
        )

    def select(self, indices: Iterable[int], **ignored: Any) -> RowSet:
        """The rows at these positions."""
        return RowSet(self[i] for i in indices)

    def shuffle(self, seed: int | None = None, **ignored: Any) -> RowSet:
        """The rows in numpy's `default_rng(seed).permutation` order, as `datasets` has it."""
        import numpy as np

        return self.select(np.random.default_rng(seed).permutation(len(self)).tolist())

    def rename_column(self, old: str, new: str) -> RowSet:
        """The rows with one column renamed, its place kept."""
        return self.rename_columns({old: new})

    def rename_columns(self, names: dict[str, str]) -> RowSet:
        """The rows with columns renamed, their places kept."""
        return RowSet({names.get(key, key): value for key, value in row.items()} for row in self)

    def remove_columns(self, names: str | Sequence[str]) -> RowSet:
        """The rows without these columns."""
        gone = {names} if isinstance(names, str) else set(names)
        return RowSet({key: value for key, value in row.items() if key not in gone} for row in self)

    def add_column(self, name: str, column: Sequence[Any], **ignored: Any) -> RowSet:
        """The rows with one more column."""
        return RowSet({**row, name: value} for row, value in zip(self, column, strict=True))

    def to_list(self) -> list[Row]:
        """The rows as a plain list."""
        return [dict(row) for row in self]


def _mapped(function: Callable[..., Row | None], row: Row, *index: int) -> Row:
    result = function(row, *index)
    return {**row, **(result or {})}
