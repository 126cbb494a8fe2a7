"""What [CKS02] claims."""

from collections.abc import Callable

from reproduction.cks02 import synthetic, usps
from reproduction.harness.claims import Claim, Finding, Numbers, Tally, always, proved
from reproduction.harness.count import judge

ROW = synthetic.ROW
MOST = 0.8  # of the problems are "almost all"


def after_learning(*columns: str) -> Callable[[Numbers], Finding]:
    """Return the verdict on columns that are to be lower with the learned kernel."""

    def verdict(numbers: Numbers) -> Finding:
        of = numbers.of(synthetic.KEY)
        pairs = [(of[ROW, f"Standard {column}"], of[ROW, f"Learned {column}"]) for column in columns]
        found = [judge(*pair) for pair in pairs]
        counts = Tally(found.count("better"), found.count("within error"), found.count("worse"))
        falls = [f"{c} {old[0]:.2f} → {new[0]:.2f}" for c, (old, new) in zip(columns, pairs, strict=True)]
        return always(counts)[0], f"standard → learned: {', '.join(falls)}"

    return verdict


def by_one_update(kernel: str) -> Callable[[Numbers], Finding]:
    """Return the verdict on the draws that one update separates."""

    def verdict(numbers: Numbers) -> Finding:
        more, _ = numbers.of(synthetic.KEY)[ROW, f"{kernel} > 1 update"]
        return ("holds" if more == 0 else "fails"), f"{100 - more:.0f} of 100 draws"

    return verdict


def examples_before(numbers: Numbers) -> Finding:
    """Compare the updates of the standard kernel with the paper's."""
    ours = numbers.of(synthetic.KEY)[ROW, "Standard updates"]
    within = judge((94.0, 0.0), ours) == "within error"
    return ("holds" if within else "fails"), f"{ours[0]:.1f} ± {ours[1] or 0:.1f} updates"


def problems(numbers: Numbers, old: str, new: str) -> tuple[int, int, int]:
    """Return on how many pairs of digits the Perceptron is better, as good, and worse with another kernel."""
    of = numbers.of(usps.KEY)
    gaps = [of[p, f"{new} Perc"][0] - of[p, f"{old} Perc"][0] for p in usps.PROBLEMS]
    return sum(g < 0 for g in gaps), sum(g == 0 for g in gaps), sum(g > 0 for g in gaps)


def almost_all(numbers: Numbers) -> Finding:
    """Count the pairs of digits on which the learned kernel is better than RBF."""
    better, equal, worse = problems(numbers, usps.RBF_KERNEL, usps.OF_TRAIN)
    note = f"better on {better} of {better + equal + worse} pairs, equal on {equal}, worse on {worse}"
    return ("holds" if better >= MOST * (better + equal + worse) else "fails"), (
        f"{note}, for a Perceptron after one epoch; an SVM is better with plain RBF"
    )


def a_quarter(numbers: Numbers) -> Finding:
    """Count the pairs of digits on which test rows as S̃ are better than training rows."""
    better, equal, worse = problems(numbers, usps.OF_TRAIN, usps.OF_TEST)
    n = better + equal + worse
    note = f"better on {better} of {n} pairs ({100 * better / n:.0f} %), equal on {equal}, worse on {worse}"
    return ("holds" if better >= 0.2 * n and better > worse else "fails"), note


EPOCHS = [f"test ep={t}" for t in (1, 2, 5, 10)]
CLAIMS = (
    Claim(
        "CKS02 4",
        "with the learned kernel a *single* example separates all 100 random training sets",
        by_one_update("Learned"),
        synthetic.KEY,
    ),
    Claim(
        "CKS02 4, Figure 1",
        "with the printed step, α = ½ ln(W⁺/W⁻), too",
        by_one_update("Literal"),
        synthetic.KEY,
    ),
    Claim(
        "CKS02 4",
        "the standard kernel needs around 94 examples",
        examples_before,
        synthetic.KEY,
    ),
    Claim(
        "CKS02 4",
        "the Perceptron “converges much faster” with the learned kernel",
        after_learning("online", "updates"),
        synthetic.KEY,
    ),
    Claim("CKS02 4", "its test errors are lower after each epoch", after_learning(*EPOCHS), synthetic.KEY),
    Claim(
        "CKS02 4",
        "the learned kernel is more robust to noise",
        after_learning("noisy ep=1", "noisy ep=10"),
        synthetic.KEY,
    ),
    Claim(
        "CKS02 4, Figure 3",
        "projected, the classes are apart along the first direction, with little deviation along the second",
        (
            "holds in part",
            "in the scale of the learned kernel; along directions of length one the deviation is "
            "about as large "
            "as the distance of the classes",
        ),
        synthetic.KEY,
    ),
    Claim(
        "CKS02 4, Figure 3",
        "the inner products of the learned kernel are a 2 × 2 block matrix",
        ("holds", "seen in the picture that the command draws"),
        synthetic.KEY,
    ),
    Claim(
        "CKS02 4",
        "“in almost all of the 45” problems of USPS the learned kernel has lower errors than RBF",
        almost_all,
        usps.KEY,
    ),
    Claim(
        "CKS02 4",
        "test rows as S̃ are “an overall improvement in about 25 %” of the problems",
        a_quarter,
        usps.KEY,
    ),
    Claim(
        "CKS02 1",
        "a kernel that is the labels' outer product classifies by any one example",
        *proved("test_one_example_is_enough_for_the_kernel_of_the_labels"),
    ),
    Claim(
        "CKS02 3",
        "with equal weights the score is proportional to the alignment",
        ("fails", "the alignment also divides by ‖K_w‖, which depends on w"),
        "test_the_score_is_not_proportional_to_the_alignment",
    ),
    Claim(
        "CKS02 3",
        "AᵀBA is positive semi-definite",
        ("holds in part", "in round one; later B has eigenvalues of both signs"),
        "test_the_largest_is_the_algebraically_largest",
    ),
    Claim(
        "CKS02 3",
        "the loss is at least 1 − c m",
        ("holds in part", "for ExpLoss; for LogLoss not at m = 0"),
        "test_the_printed_tangent_lies_above_the_log_loss",
    ),
    Claim(
        "CKS02 3",
        "the best base kernel is the leading vector of a generalised eigenproblem",
        *proved("test_as_expansions_they_solve_the_generalised_problem"),
    ),
    Claim(
        "CKS02 3",
        "any kernel can stand in the inner product's place",
        *proved("test_it_is_the_sum_over_directions_and_landmarks"),
    ),
)
