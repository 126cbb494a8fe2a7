"""What [OSW02] claims."""

from reproduction.harness.claims import Claim, Finding, Numbers, always, proved, tally
from reproduction.harness.count import judge
from reproduction.osw02.table2 import TABLES

KEY, DIGITS = (table.key for table in TABLES)
ROWS = ("pima", "ionosphere", "wdbc")
FEW, USED = 10, 5


def better_than_untuned(numbers: Numbers) -> Finding:
    """Compare the learned kernel with the wide one that it was learned from."""
    of = {**numbers.of(KEY), **numbers.of(DIGITS)}
    return always(tally(of, (*ROWS, "usps-5-8"), "Q_reg test", ["R_reg test"]))


def like_a_tuned_svm(numbers: Numbers) -> Finding:
    """Compare with a tuned SVM: as good, except on ionosphere."""
    of = {**numbers.of(KEY), **numbers.of(DIGITS)}
    found = {row: judge(of[row, "Tuned SVM"], of[row, "Q_reg test"]) for row in (*ROWS, "usps-5-8")}
    as_said = all((verdict == "worse") == (row == "ionosphere") for row, verdict in found.items())
    return ("holds" if as_said else "fails"), ", ".join(f"{row} {verdict}" for row, verdict in found.items())


def few_superkernels(numbers: Numbers) -> Finding:
    """Say how many terms span the superkernel, and how many are used."""
    of = numbers.of(KEY)
    terms = [of[row, "Q_reg terms"][0] for row in ROWS]
    used = [of[row, "Q_reg used"][0] for row in ROWS]
    holds = max(terms) < FEW and max(used) < USED
    return (
        "holds" if holds else "fails"
    ), f"{max(terms):.1f} terms, of which {max(used):.1f} are used at most"


CLAIMS = (
    Claim(
        "OSW02 6",
        "Q_reg has lower test errors than the same SVM without learning (R_reg)",
        better_than_untuned,
        KEY,
    ),
    Claim(
        "OSW02 6",
        "Q_reg, untuned, is comparable to a hand-tuned SVM, except on ionosphere",
        like_a_tuned_svm,
        KEY,
    ),
    Claim(
        "OSW02 6",
        "less than 10 superkernels span it, and typically less than 5 are used",
        few_superkernels,
        KEY,
    ),
    Claim(
        "OSW02 6",
        "the optimisation is not much more costly than a standard SVM",
        (
            "holds",
            "2.1 to 2.6 SVMs of 2000 rows with the paper's superkernel",
        ),
        "benchmarks superkernel",
    ),
    Claim(
        "OSW02 6",
        "comparable with boosting that has 90 % of the rows for training (“best in [9, 10]”)",
        ("holds in part", "those numbers are cited and were not run: Q_reg is below them on pima and wdbc"),
        KEY,
    ),
    Claim(
        "OSW02 (4)",
        "the alignment functional is least, and 0, at K = yyᵀ",
        *proved("test_equation_4_the_ideal_kernel_has_no_misalignment_and_no_kernel_has_less"),
    ),
    Claim(
        "OSW02 Example 2",
        "of kernels of trace one, zzᵀ/‖z‖² with the given z has the least risk",
        ("holds in part", "with the 1/m that the right-hand side has lost"),
        "test_of_trace_one_the_paper_s_minimiser_has_the_least_risk",
    ),
    Claim(
        "OSW02 (7), (8)",
        "kernels of determinant one still bring the log posterior to its least as β grows",
        *proved("test_equation_8_has_determinant_one_and_brings_the_posterior_to_its_least"),
    ),
    Claim(
        "OSW02 (7)",
        "kernels without full rank send it to −∞, and have to be excluded",
        ("holds in part", "so does any kernel that shrinks, whatever its rank"),
        "test_without_noise_the_posterior_has_no_least_value_and_with_noise_it_has",
    ),
    Claim(
        "OSW02 Corollary 6",
        "the best kernel is Σ β_pq k̲((x_p, x_q), ·)",
        *proved("test_terms_are_kernels_of_pairs_and_the_penalty_is_their_superkernel_matrix"),
    ),
    Claim(
        "OSW02 Examples 4 to 7",
        "power series, the harmonic and the explicit construction are superkernels",
        *proved("test_for_a_fixed_pair_it_is_a_kernel_on_rows"),
    ),
    Claim(
        "OSW02 Table 1",
        "arctanh and −ln(1 − ξ) are suitable for all k with k² ≤ R",
        ("holds in part", "they are infinite at k(x, x) = 1, on the diagonal of every RBF kernel"),
        "test_a_power_series_is_that_of_table_1_of_the_scaled_product",
    ),
    Claim(
        "OSW02 (14)",
        "for λ_h → 1 the superkernel becomes the indicator of equal pairs",
        *proved("test_a_decay_near_one_gives_the_indicator_of_diagonal_pairs"),
    ),
    Claim(
        "OSW02 Lemma 7",
        "derivatives of every order of a minimum are those of the function at the minimiser",
        ("holds in part", "for the first derivative, which is what is used"),
        "test_the_value_is_the_risk_of_an_svm_and_the_slope_its_derivative",
    ),
    Claim(
        "OSW02 Corollary 8",
        "the quality functional is convex in k",
        *proved("test_the_objective_is_that_of_the_qcqp_and_the_gap_is_true"),
    ),
    Claim(
        "OSW02 5",
        "alternating between α and β minimises (19)",
        ("fails", "it stalls at the hinge's kinks, above the minimum"),
        "test_the_alternation_stops_above_the_minimum_and_says_how_far",
    ),
)
