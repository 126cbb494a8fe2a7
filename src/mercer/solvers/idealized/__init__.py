"""Idealized kernels: a quadratic program over pairs of samples, and its PSD version [KT03]."""

from mercer.solvers.idealized.differences import Differences
from mercer.solvers.idealized.qp import PairProblem, PairSolution, solve_pair_qp

__all__ = ["Differences", "PairProblem", "PairSolution", "solve_pair_qp"]
