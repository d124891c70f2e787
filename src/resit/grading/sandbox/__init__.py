"""Runs Python programs that a model wrote, in processes that can compute and nothing else."""

from __future__ import annotations

from resit.grading.sandbox.client import Limits, Outcome, Sandbox, shared_sandbox

__all__ = ["Limits", "Outcome", "Sandbox", "shared_sandbox"]
