"""mercer learns the kernel that a data set needs, and hands it to every tool that takes a kernel."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.learners import (
        BlendedKernel,
        BoostedKernel,
        IdealizedKernel,
        KernelBoost,
        RelevanceKernel,
        Superkernel,
    )
    from mercer.machines import (
        KernelRegressor,
        KernelSVC,
        PerceptronRegressor,
        PerceptronSVC,
        StumpRegressor,
        StumpSVC,
        TreeRegressor,
        TreeSVC,
    )
    from mercer.matching import PairMatcher
    from mercer.pairs import Pairs
    from mercer.persistence import load, save
    from mercer.preprocessing import ClippedScaler, TableEncoder
    from mercer.search import KernelSearchCV, KernelSearchRegressor


__all__ = [
    "BlendedKernel",
    "BoostedKernel",
    "ClippedScaler",
    "IdealizedKernel",
    "KernelBoost",
    "KernelRegressor",
    "KernelSVC",
    "KernelSearchCV",
    "KernelSearchRegressor",
    "PairMatcher",
    "Pairs",
    "PerceptronRegressor",
    "PerceptronSVC",
    "RelevanceKernel",
    "StumpRegressor",
    "StumpSVC",
    "Superkernel",
    "TableEncoder",
    "TreeRegressor",
    "TreeSVC",
    "load",
    "save",
]

# Where each name is at home. Rooms are loaded when they are first asked for: scikit-learn and what it brings
# take a second.
_HOMES = {
    "BlendedKernel": "learners",
    "BoostedKernel": "learners",
    "ClippedScaler": "preprocessing",
    "IdealizedKernel": "learners",
    "KernelBoost": "learners",
    "KernelRegressor": "machines",
    "KernelSVC": "machines",
    "KernelSearchCV": "search",
    "KernelSearchRegressor": "search",
    "PairMatcher": "matching",
    "Pairs": "pairs",
    "PerceptronRegressor": "machines",
    "PerceptronSVC": "machines",
    "RelevanceKernel": "learners",
    "StumpRegressor": "machines",
    "StumpSVC": "machines",
    "Superkernel": "learners",
    "TableEncoder": "preprocessing",
    "TreeRegressor": "machines",
    "TreeSVC": "machines",
    "load": "persistence",
    "save": "persistence",
}
_ROOMS = {
    *_HOMES.values(),
    "datasets",
    "export",
    "kernels",
    "losses",
    "matching",
    "metrics",
    "report",
    "superkernels",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # it takes longer than all the rest: Ctrl-C would meet it

        return version("mercer")
    if name in _HOMES:
        return getattr(import_module(f"mercer.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
