"""Exact SVMs where the tensor lives: one Gram matrix there, and all two-class problems on it at once."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from sklearn.utils import gen_batches

from mercer.limits import check_memory
from mercer.svm.libsvm import DualSolution
from mercer.svm.multiclass import TwoClassProblem

SOLVER = "mercer.solvers.many_svms"  # imports torch, which is here if there is a tensor
NUMBERS = 2**25  # coefficients of all problems that are solved at a time: 0.25 GB, in some thirty arrays


class DeviceGram(NamedTuple):
    """The Gram matrix of tensors, centred, K_ij − m_i − m_j."""

    K: Any
    means: Any

    @classmethod
    def of(cls, gram: Callable[[Any, Any], Any], X: Any, advice: str) -> "DeviceGram":
        """Compute the Gram matrix, if there is memory for it; else `advice` says what to do."""
        check_memory(
            X.element_size() * len(X) ** 2,
            f"The Gram matrix of {len(X)} rows",
            advice,
            *(_free_memory(X) if X.is_cuda else ()),
        )
        K, means = import_module(SOLVER).store_gram(gram, X)
        if not means.isfinite().all():
            raise ValueError(
                f"features are as large as {float(X.abs().max()):.0e}, and kernel values are no numbers: "
                "scale the features, for example with sklearn.preprocessing.StandardScaler."
            )
        return cls(K, means)

    def spread(self, weight: Any = None) -> float:
        """Return the mean squared distance of the samples, each of some weight, from their mean.

        It is that in feature space; zero if rounding errors make it negative.
        """
        diagonal = self.K.diagonal().double()
        if weight is None:
            return max(float(diagonal.mean() - self.K.mean(1).double().mean()), 0.0)
        share = weight / weight.sum()
        products = (self.K @ share.to(self.K.dtype)).double()
        return max(float(share.double() @ (diagonal - products)), 0.0)

    def solve(
        self, problems: Sequence[TwoClassProblem], weight: Any, Cs: Sequence[float], **options: Any
    ) -> Iterator[list[tuple[DualSolution, int]]]:
        """Solve all problems for each C, ascending; return solutions, of a problem's own rows, and steps.

        `options` are those of `solve_many`.
        """
        solver = import_module(SOLVER)
        size = max(1, NUMBERS // len(self.K))
        parts = [problems[batch] for batch in gen_batches(len(problems), size)]
        tables, starts = [_tabulate(solver, part, weight) for part in parts], [None] * len(parts)
        for C in Cs:
            fits: list[tuple[DualSolution, int]] = []
            for k, table in enumerate(tables):
                found = solver.solve_many(self.K, table._replace(C=C * table.C), start=starts[k], **options)
                starts[k] = found
                fits += [self._solution(parts[k][p], p, found) for p in range(len(parts[k]))]
            yield fits

    def _solution(self, problem: TwoClassProblem, p: int, found: Any) -> tuple[DualSolution, int]:
        coef = found.coef[p, : len(problem.rows)].clone()
        intercept = float(found.intercept[p] - self.means[problem.rows] @ coef)
        numbers = float(found.objective[p]), float(found.residual[p])
        return DualSolution(coef, intercept, *numbers), int(found.n_iter[p])


def _tabulate(solver: Any, problems: Sequence[TwoClassProblem], weight: Any) -> Any:
    """Return the problems as a table, filled up with rows of no weight."""
    m = max(len(problem.rows) for problem in problems)
    rows = weight.new_zeros((len(problems), m)).long()
    y, C = weight.new_ones(rows.shape), weight.new_zeros(rows.shape)
    for p, problem in enumerate(problems):
        n = len(problem.rows)
        rows[p, :n], y[p, :n], C[p, :n] = problem.rows, problem.y, weight[problem.rows]
    return solver.Problems(rows, y, C)


def _free_memory(X: Any) -> tuple[float, str]:
    """Return the memory of a GPU that is free, or torch's own and unused, and its name."""
    cuda = import_module("torch").cuda
    unused = cuda.memory_reserved(X.device) - cuda.memory_allocated(X.device)
    return cuda.mem_get_info(X.device)[0] + unused, cuda.get_device_name(X.device)
