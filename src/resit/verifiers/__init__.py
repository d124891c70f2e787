"""Outcome verifiers: models that say how likely a written solution is right (Cobbe et al. 2021)."""
