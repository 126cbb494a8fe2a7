"""Boosting of Gaussian mixtures over pairs of samples [HBW06]."""

from mercer.solvers.kernelboost.assignments import TooFewComponentsError
from mercer.solvers.kernelboost.boost import Round, WeakLearner, boost_mixtures
from mercer.solvers.kernelboost.chunklets import (
    Chunklets,
    ContradictionError,
    chunk_labels,
    chunk_pairs,
    color_greedily,
)
from mercer.solvers.kernelboost.em import run_em, state_problem
from mercer.solvers.kernelboost.gaussians import KINDS, CollapseError, Gaussians

__all__ = [
    "KINDS",
    "Chunklets",
    "CollapseError",
    "ContradictionError",
    "Gaussians",
    "Round",
    "TooFewComponentsError",
    "WeakLearner",
    "boost_mixtures",
    "chunk_labels",
    "chunk_pairs",
    "color_greedily",
    "run_em",
    "state_problem",
]
