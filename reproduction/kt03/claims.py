"""What [KT03] claims."""

from reproduction.harness.claims import (
    Claim,
    Finding,
    Numbers,
    both,
    compare,
    mostly,
    never_worse,
    proved,
    tally,
)
from reproduction.kt03.data import ROWS

TABLE2, TABLE3, TABLE4 = (f"kt03-table{n}" for n in (2, 3, 4))
WITH_XING = ("toy-linear", "soybean-linear", "wine-linear")
OWN = "Clip R"


def against_xing(numbers: Numbers) -> Finding:
    """Compare with Xing's metric on the rows of all tables where the paper has it."""
    found = {
        key: never_worse(tally(numbers.of(key), WITH_XING, OWN, ["Xing"])) for key in (TABLE2, TABLE3, TABLE4)
    }
    return both(*((verdict, f"Table {key[-1]}: {note}") for key, (verdict, note) in found.items()))


def alignments_improve(numbers: Numbers) -> Finding:
    """Count the alignments, of training and of test rows, that are higher after learning."""
    of = numbers.of(TABLE4)
    pairs = [
        (of[row, f"before, {part}"][0], of[row, f"{OWN} after, {part}"][0])
        for row in ROWS
        for part in ("train", "test")
    ]
    higher = sum(after > before for before, after in pairs)
    return ("holds" if 2 * higher > len(pairs) else "fails"), f"higher on {higher} of {len(pairs)}"


CLAIMS = (
    Claim(
        "KT03 4.1",
        "the learned metric has lower classification errors than the plain one (Table 2)",
        compare(TABLE2, ROWS, OWN, ["Euclidean"], mostly),
        TABLE2,
    ),
    Claim(
        "KT03 4.1",
        "the learned metric has lower clustering errors than the plain one (Table 3)",
        compare(TABLE3, ROWS, OWN, ["Euclidean"], mostly),
        TABLE3,
    ),
    Claim(
        "KT03 4.2",
        "with labels, it “compares favorably” with the original kernels (Table 4)",
        compare(TABLE4, ROWS, OWN, ["Euclidean"], mostly),
        TABLE4,
    ),
    Claim("KT03 4", "and with the metric of Xing et al. (Tables 2, 3, 4)", against_xing, TABLE2),
    Claim(
        "KT03 4.2",
        "alignments on training and test rows typically improve",
        alignments_improve,
        TABLE4,
    ),
    Claim(
        "KT03 4.1, Figure 1",
        "learned kernel matrices of the toy data have clear blocks, Xing's some undesirable lines",
        (
            "holds in part",
            "seen in the picture: there are blocks in all, those of the paper's QP are the faintest; Xing's "
            "metric has lines",
        ),
        "kt03-figure1",
    ),
    Claim(
        "KT03 2, Proposition 1",
        "adding γ/2 of the ideal kernel raises the alignment if γ is above a bound",
        ("holds", "the condition is never needed"),
        "test_erratum_of_proposition_1_its_condition_is_not_needed",
    ),
    Claim(
        "KT03 3.1",
        "classes may have different weights in the ideal kernel, and adding it still raises the alignment",
        *proved("test_classes_may_have_weights_in_the_ideal_kernel_as_the_end_of_section_3_1_says"),
    ),
    Claim(
        "KT03 Proposition 2",
        "each pair is one of three cases by its multiplier",
        *proved("test_every_pair_is_one_of_the_three_cases_of_proposition_2"),
    ),
    Claim(
        "KT03 Proposition 3",
        "ν bounds the shares of support pairs and error pairs",
        *proved("test_nu_bounds_the_shares_of_support_and_error_pairs_as_proposition_3_says"),
    ),
    Claim(
        "KT03 3.2, footnote 5",
        "the matrix of (11) was always positive definite in the experiments",
        (
            "fails",
            "with more features than rows its rank is too low, and it has negative eigenvalues as well",
        ),
        "test_some_of_these_programs_have_indefinite_solutions_and_some_none",
    ),
    Claim(
        "KT03 3.2.1",
        "the dual is a QP without local optima",
        *proved("test_it_finds_what_cvxpy_finds"),
    ),
    Claim(
        "KT03 3.2.1",
        "its solution gives the optimal AAᵀ",
        (
            "fails",
            "it is a lower bound: the QP is over all symmetric matrices, and clipping it is not optimal",
        ),
        "test_the_qp_is_below_the_exact_optimum_and_the_clipped_qp_above",
    ),
    Claim(
        "KT03 3.3",
        "the kernel version needs inner products alone",
        *proved("test_the_kernel_and_its_distance_are_the_sums_of_section_3_3"),
    ),
)
