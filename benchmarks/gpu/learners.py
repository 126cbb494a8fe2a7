"""Learners on a device: weights of features from many rows, and mixtures of a million rows without labels."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for it, before SciPy is imported

import torch
from sklearn import config_context

from benchmarks.gpu.exact import draw
from benchmarks.gpu.stump import ceiling, timed
from mercer import KernelBoost, RelevanceKernel

CLASSES, D, LABELLED = 10, 20, 200


def main() -> None:
    """Print a line for each learner."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    n_free, n_rows = (10**6, 20_000) if device == "cuda" else (10**4, 400)
    with config_context(array_api_dispatch=True):
        boost_mixtures(n_free // 100, device)  # the first call loads libraries
        boost_mixtures(n_free, device)
        weigh(n_rows // 10, device)
        weigh(n_rows, device)


def clusters(n: int, device: str, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw Gaussian clusters, each of its own shape, which overlap a little."""
    fixed, rng = torch.Generator(device).manual_seed(7), torch.Generator(device).manual_seed(seed)
    means = 0.6 * torch.randn((CLASSES, D), generator=fixed, device=device)
    shapes = torch.randn((CLASSES, D, D), generator=fixed, device=device) / D**0.5
    y = torch.arange(n, device=device) % CLASSES
    return means[y] + (torch.randn((n, 1, D), generator=rng, device=device) @ shapes[y])[:, 0], y


def boost_mixtures(n: int, device: str) -> None:
    """Print the time of mixtures fitted to few labels and n other rows, and what they are good for."""
    X, y = clusters(LABELLED, device)
    others, truth = clusters(n, device, seed=1)
    model = KernelBoost(n_rounds=30, random_state=0)
    seconds, _ = timed(lambda: model.fit(X, y, unlabelled=others))
    features, labels = model.transform(others[:10_000]), model.transform(X)
    right = (y[(features @ labels.T).argmax(1)] == truth[:10_000]).double().mean()
    floor = 2.0 * n * (D + CLASSES) * 8 / ceiling(device)  # rows and shares, read once in each of both steps
    print(
        f"KernelBoost, {LABELLED} labels and {n} other rows × {D}, {CLASSES} classes: "
        f"{model.n_rounds_} rounds, {seconds:.1f} s; memory alone {1e3 * floor:.2f} ms a step of EM; "
        f"nearest neighbour right on {100 * float(right):.1f} % of other rows",
        flush=True,
    )


def weigh(n: int, device: str) -> None:
    """Print the time of learning weights of features from n rows of ten classes."""
    X, y = draw(n, device)
    model = RelevanceKernel(max_rows=n, random_state=0)
    seconds, _ = timed(lambda: model.fit(X, y))
    used = int((model.relevance_ > 0).sum())
    print(
        f"RelevanceKernel, all of {n} rows × {X.shape[1]}, {CLASSES} classes: {len(model.loss_) - 1} rounds, "
        f"{seconds:.1f} s, loss {float(model.loss_[0]):.4f} to {float(model.loss_.min()):.4f}, "
        f"{used} features used",
        flush=True,
    )
