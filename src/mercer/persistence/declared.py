"""The classes that a file may hold, and what each of their fields may be. There are no others.

A class is declared by the name that it has in files, where it is, and its fields. What a class of mercer is
made with needs no declaration if it is a plain setting; what it has learned is declared field by field. **A
name is never given to another class**: files of users hold it. Where a class is may change, and a field that
it is made with may come new if it has a default.

A new class that a model can hold is one entry here. What numba, LIBSVM or `bincount` take on trust, indices
and shapes, is declared (`below=`, letters of shapes) or looked at in a check. A member of another library is
not restored by that library's own means: what it predicts with is declared as arrays of a class of mercer
that computes with them (of a tree: features below D, and children that come after their parent).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mercer.persistence.fields import (
    TINY,
    Array,
    Either,
    Field,
    Map,
    Maybe,
    Number,
    Part,
    Plain,
    Row,
    Several,
    Sometimes,
    Text,
    Truth,
    Whole,
    flags,
    indices,
    labels,
    reals,
    refuse,
)


class Declaration(NamedTuple):
    """Where a class is, what group it belongs to, its fields, and a last look at the whole."""

    place: str
    group: str
    fields: dict[str, Field]
    check: Callable[[Any], None]


DECLARED: dict[str, Declaration] = {}
REPORT = Plain()  # what a fit says of itself
ESTIMATOR: dict[str, Field] = {
    "n_features_in_": Sometimes(Whole(length="D")),
    "feature_names_in_": Sometimes(Array("D", "O")),
}
UNKNOWN = Number(any_at_all=True)  # NaN where nothing was measured
POSITIVE = Number(TINY)


def declare(group: str, name: str, place: str = "", /, **fields: Field) -> None:
    """Declare a class; a public one is where its name says."""
    DECLARED[name] = Declaration(place or name, group, fields, lambda built: None)


def estimator(group: str, name: str, /, **fields: Field) -> None:
    """Declare a class that learns."""
    declare(group, name, **ESTIMATOR, **fields)


def part(name: str, place: str, /, **fields: Field) -> None:
    """Declare a class of which models are made, and which is not public."""
    declare("part", f"mercer.parts.{name}", f"mercer.{place}", **fields)


def one(name: str, **letters: str) -> Part:
    """Return a field for a class that is not public."""
    return Part(f"mercer.parts.{name}", **letters)


# Kernels
# fmt: off

KERNEL = Part("kernel")


def kernel(name: str, /, **fields: Field) -> None:
    """Declare a kernel."""
    declare("kernel", name, **fields)


def kernel_of_sklearn(name: str, /, **fields: Field) -> None:
    """Declare a kernel of scikit-learn; where its numbers may be found is a report."""
    numbers = {key: field for key, field in fields.items() if isinstance(field, Number | Array)}
    bounds = {f"{key}_bounds": REPORT for key in numbers}
    kernel(f"sklearn.gaussian_process.kernels.{name}", **fields, **bounds)


kernel("mercer.kernels.Stump", delta=Number())
kernel("mercer.kernels.Perceptron", delta=Number())
kernel("mercer.kernels.Tree", gamma=Maybe(POSITIVE))
kernel("mercer.kernels.StumpEnsemble", features=indices("t", may_be_empty=False), thresholds=reals("t"),
    scale=Number())
kernel("mercer.kernels.PerceptronEnsemble", directions=reals("t D"), thresholds=reals("t"), scale=Number())
kernel("mercer.kernels.Projected", coef=reals("p T"), base=Maybe(KERNEL), landmarks=Maybe(reals("p D")))
kernel("mercer.kernels.Mixture", alpha=reals("T", 0), offsets=reals("T M"), means=reals("T M d"),
    factors=reals("T M d d|T 1 d d|T M d"))
kernel("mercer.kernels.Series", base=KERNEL, function=Text("geometric", "exp", "sinh", "cosh", "arctanh",
    "log"), constants=Either(reals("r|r D", 0), Several(Number(0), "r")), weights=Either(reals("r", 0),
    Several(Number(0), "r")), by_feature=Truth(), factor=Number(0))
kernel("mercer.kernels.Combination", kernels=Several(KERNEL, "r"), weights=Either(reals("r", 0),
    Several(Number(0), "r")), columns=Maybe(Several(Maybe(Several(Whole())), "r")))
kernel("mercer.kernels.Forest", n_features=Whole(1, length="D"), feature=indices("m", below="D"),
    threshold=reals("m", any_at_all=True), low=indices("m", below="m"), high=indices("m", below="m"),
    roots=indices("t", below="m", may_be_empty=False))
kernel("mercer.kernels.Ranked", base=KERNEL, quantiles=reals("q D", may_be_empty=False))
kernel("mercer.kernels.Mapped", base=KERNEL, coef=reals("D p"))
kernel("mercer.kernels.Rescaled", base=KERNEL, center=reals("D"), scale=reals("D"), low=Maybe(reals("D")),
    high=Maybe(reals("D")))
kernel_of_sklearn("ConstantKernel", constant_value=Number(0))
kernel_of_sklearn("DotProduct", sigma_0=Number(0))
kernel_of_sklearn("RBF", length_scale=reals("|D", TINY))
kernel_of_sklearn("Matern", length_scale=reals("|D", TINY), nu=POSITIVE)
kernel_of_sklearn("RationalQuadratic", length_scale=POSITIVE, alpha=POSITIVE)
kernel_of_sklearn("ExpSineSquared", length_scale=POSITIVE, periodicity=POSITIVE)
kernel_of_sklearn("WhiteKernel", noise_level=Number(0))
kernel_of_sklearn("Sum", k1=KERNEL, k2=KERNEL)
kernel_of_sklearn("Product", k1=KERNEL, k2=KERNEL)
kernel("sklearn.gaussian_process.kernels.Exponentiation", kernel=KERNEL, exponent=Number(0))

# Kernels on pairs, and what they are judged by

for name in ("Harmonic", "PowerSeries"):
    declare("pair kernel", f"mercer.superkernels.{name}", base=KERNEL)
for name in ("GaussianHarmonic", "Widths"):
    declare("pair kernel", f"mercer.superkernels.{name}")
declare("pair kernel", "mercer.superkernels.ARD", series=Part("pair kernel"))
declare("pair kernel", "mercer.superkernels.Explicit", kernels=Several(KERNEL))
for name in ("Alignment", "Posterior", "Risk", "SquaredRisk"):
    declare("functional", f"mercer.superkernels.{name}")

# Learners

REPORTS = {"mercer.BoostedKernel": "losses_ alphas_ n_rounds_ n_directions_",
    "mercer.IdealizedKernel": "clipped_ gamma_ pairs_ dissimilar_ pair_weights_ support_pairs_ error_pairs_ "
    "objective_ gap_ n_iter_",
    "mercer.KernelBoost": "n_components_ alphas_ edges_ n_iter_ n_rounds_ posterior_error_ exact_",
    "mercer.RelevanceKernel": "loss_ n_rounds_ penalty_ relevance_",
    "mercer.Superkernel": "beta_ objective_ gap_ n_iter_", "mercer.BlendedKernel": "within_map_ radius_"}
LEARNER = Part("learner")
SPAN = one("SpanFeatures")
MORE: dict[str, dict[str, Field]] = {"mercer.BoostedKernel": {"base": Maybe(KERNEL)},
    "mercer.IdealizedKernel": {"base": Maybe(KERNEL)}, "mercer.RelevanceKernel": {"base": Plain("kernel"),
    "span_": Sometimes(SPAN)}, "mercer.Superkernel": {"superkernel": Maybe(Part("pair kernel")),
    "quality": Maybe(Part("functional")), "superkernel_": Part("pair kernel"), "span_": Sometimes(SPAN)},
    "mercer.BlendedKernel": {"learner": Maybe(LEARNER), "others": Maybe(Several(LEARNER)),
    "learner_": LEARNER, "others_": Several(LEARNER), "within_": Several(LEARNER), "near_": Sometimes(SPAN)}}
part("SpanFeatures", "learners.superkernel.SpanFeatures", kernel=KERNEL, rows=reals("n D"))
for name, reports in REPORTS.items():
    fitted = {"kernel_": KERNEL, "classes_": Sometimes(labels("c")), "sampled_rows_": Sometimes(REPORT),
        "sample_alignment_": Sometimes(REPORT)}
    estimator("learner", name, **MORE.get(name, {}), **fitted, **dict.fromkeys(reports.split(),
        Sometimes(REPORT)))

# Machines

part("Units", "machines.functions.Units", offset=reals("D"), scale=POSITIVE)
part("AdditiveFunction", "machines.functions.AdditiveFunction",
    knots=reals("D k", may_be_empty=False, compiled=True), values=reals("D k", compiled=True),
    intercept=Number(), units=one("Units", D="D"))
part("AdditiveFunctions", "machines.functions.AdditiveFunctions", each=Several(one("AdditiveFunction", D="D"),
    "p", least=1), directions=Maybe(reals("d D")))
part("KernelFunction", "machines.functions.KernelFunction", kernel=KERNEL, anchors=Maybe(reals("n d")),
    coef=reals("n p"), intercept=reals("p"))
part("TargetScaling", "machines.targets.TargetScaling", offset=reals("p"), scale=reals("p", TINY),
    is_log=Truth())
declare("part", "mercer.machines.UnseenErrors", error=reals("n p", may_be_empty=False), weight=reals("n", 0),
    is_log=Truth())
FITTED: dict[str, Field] = {"kernel_": Either(KERNEL, Several(KERNEL)),
    "learner_": Sometimes(Maybe(Either(Part("learner", "kernel"), Several(LEARNER)))), "method_": Text(),
    "machines_": Several(Part("mercer.parts.AdditiveFunctions", "mercer.parts.KernelFunction"), least=1),
    **{key: Sometimes(REPORT) for key in ("C_", "Cs_", "gammas_", "scores_", "objective_", "residual_",
    "n_iter_")}}
OF_CLASSES: dict[str, Field] = {"classes_": labels("c"), "_lapse": Sometimes(Number(0, 1)),
    "_scheme": Sometimes(Text("ovo", "ovr", "multinomial", "joint")), "intercept_": reals("p"),
    "support_": Sometimes(indices("n")), "dual_coef_": Sometimes(reals("q n"))}
OF_NUMBERS: dict[str, Field] = {"_one_target": Truth(), "_scaling": Maybe(one("TargetScaling", p="p")),
    "intercept_": reals("|p"), "unseen_": Sometimes(Maybe(Part("mercer.machines.UnseenErrors", p="p")))}
CV = Plain("folds")
for name in ("Stump", "Perceptron", "Tree", "Kernel"):
    learner: dict[str, Field] = {"learner": Maybe(Part("learner", "kernel"))} if name == "Kernel" else {}
    estimator("machine", f"mercer.{name}SVC", cv=CV, **learner, **FITTED, **OF_CLASSES)
    estimator("machine", f"mercer.{name}Regressor", cv=CV, **learner, **FITTED, **OF_NUMBERS)

part("Sum", "search.trees.Sum", kernel=Part("mercer.kernels.Forest", m="m", t="t"), value=reals("m v"),
    start=reals("c"), column=indices("t", below="c"))
for kind in ("Boosting", "Forest"):
    for what, more in (("Classifier", {"classes_": labels("c")}), ("Regressor", {})):
        DECLARED[f"mercer.parts.{kind}{what}"] = Declaration(f"mercer.search.trees.{kind}{what}", "machine",
            {**ESTIMATOR, **more, "sum_": one("Sum")}, lambda built: None)

# Scalers, and other people's machines that searches compare with

SCALERS = {"StandardScaler": ("copy with_mean with_std", "mean_ var_ scale_"),
    "MinMaxScaler": ("feature_range copy clip", "min_ scale_ data_min_ data_max_ data_range_"),
    "MaxAbsScaler": ("copy", "max_abs_ scale_"),
    "RobustScaler": ("with_centering with_scaling quantile_range copy unit_variance", "center_ scale_")}
estimator("scaler", "mercer.ClippedScaler", low_=reals("D"), high_=reals("D"), mean_=reals("D"),
    scale_=reals("D"))
for name, (settings, learned) in SCALERS.items():
    estimator("scaler", f"sklearn.preprocessing.{name}", n_samples_seen_=Sometimes(REPORT),
        **dict.fromkeys(settings.split(), REPORT), **dict.fromkeys(learned.split(), Maybe(reals("D"))))
RIDGE = dict.fromkeys(("alpha", "fit_intercept", "copy_X", "max_iter", "tol", "solver", "positive"), REPORT)
LINEAR: dict[str, Field] = {"coef_": reals("D|q D"), "intercept_": reals("|q")}
estimator("of sklearn", "sklearn.linear_model.Ridge", **RIDGE, random_state=REPORT, **LINEAR, n_iter_=REPORT,
    solver_=REPORT)
estimator("of sklearn", "sklearn.linear_model.RidgeCV", alphas=REPORT, fit_intercept=REPORT, scoring=REPORT,
    cv=CV, gcv_mode=REPORT, alpha_per_target=REPORT, store_cv_results=REPORT, **LINEAR, alpha_=REPORT,
    best_score_=REPORT, cv_results_=Sometimes(REPORT), _store_cv_results=Sometimes(REPORT))
estimator("of sklearn", "sklearn.dummy.DummyRegressor", strategy=Text("mean", "median", "quantile",
    "constant"), constant=REPORT, quantile=REPORT, n_outputs_=Whole(1, length="q"), constant_=reals("1 q"))
estimator("of sklearn", "sklearn.dummy.DummyClassifier", strategy=Text("prior", "most_frequent"),
    constant=REPORT, random_state=REPORT, _strategy=Text("prior", "most_frequent"), n_outputs_=Whole(1, 1),
    classes_=labels("c"), n_classes_=Whole(length="c"), class_prior_=reals("c", 0), sparse_output_=Truth())
SVM_SETTINGS = "tol shrinking probability max_iter class_weight decision_function_shape break_ties"
estimator("of sklearn", "sklearn.svm.SVC", **dict.fromkeys(SVM_SETTINGS.split(), REPORT), random_state=REPORT,
    degree=Whole(0, 100), C=Number(0), coef0=Number(), cache_size=Number(0), kernel=Either(Text("linear",
    "poly", "rbf", "sigmoid"), KERNEL), gamma=REPORT, classes_=labels("c"), shape_fit_=Row(Whole(length="N"),
    Whole(length="D")), support_=indices("n", below="N"), support_vectors_=reals("n D|0 0"),
    _n_support=indices("c"), dual_coef_=reals("c-1 n"), _dual_coef_=reals("c-1 n"), intercept_=reals("c:2"),
    _intercept_=reals("c:2"), _probA=reals("0|c:2"), _probB=reals("0|c:2"), epsilon=Number(0, 0), nu=Number(0,
    0), _gamma=Number(0), _sparse=Truth(), class_weight_=reals("c", 0), fit_status_=REPORT, n_iter_=REPORT,
    _num_iter=REPORT, _BaseLibSVM__Xfit=Sometimes(reals("N D")), _effective_probability=Sometimes(Truth()))
declare("pipeline", "sklearn.pipeline.Pipeline", steps=Several(Row(Text(), Maybe(Part("scaler", "machine",
    "learner", "encoder", "of sklearn", "pipeline"))), least=1))
for name in ("KFold", "StratifiedKFold", "GroupKFold", "StratifiedGroupKFold"):
    declare("folds", f"sklearn.model_selection.{name}", n_splits=REPORT, shuffle=REPORT, random_state=REPORT)

# Tables

part("NumberFormat", "preprocessing.numbers.NumberFormat", decimal=Text(".", ","), thousands=Text("", ".",
    ",", "'", " "), before=Text(), after=Text())
part("NumberColumn", "preprocessing.kinds.NumberColumn", name=Text(), written=one("NumberFormat"),
    median=Number(), marks_gaps=Truth())
part("DateColumn", "preprocessing.kinds.DateColumn", name=Text(), written=Text(), first=Number(),
    medians=reals("p"), parts=Several(Text("year", "month", "day of the year", "weekday", "days", "hour"),
    "p", least=1))
part("CategoryColumn", "preprocessing.kinds.CategoryColumn", name=Text(), values=Several(Text()),
    has_gaps=Truth(), has_rare=Truth())
part("TextColumn", "preprocessing.kinds.TextColumn", name=Text(), terms=Array("t", "U"), idf=reals("t"),
    components=reals("c t", may_be_empty=False))
COLUMNS = [f"mercer.parts.{name}Column" for name in ("Number", "Date", "Category", "Text")]
estimator("encoder", "mercer.TableEncoder", columns_=Several(Part(*COLUMNS)), dropped_=Map(Text()),
    notes_=Several(Text()))

# Searches

part("Decision", "search.decisions.Decision", weights=reals("c", 0))
declare("part", "mercer.search.Calibration", slope=Number(0), offsets=reals("c"))
part("Spread", "search.spread.Spread", knots=reals("k", may_be_empty=False), heights=reals("k", 0))
part("HeldOut", "search.body.HeldOut", rows=indices("n|n 2"), said=reals("n|n c", any_at_all=True))
MEMBERS = Several(Row(Text(), Part("pipeline")), "m", least=1)
declare("model", "mercer.search.Blend", members=MEMBERS, weights=reals("m", 0),
    units=Several(Part("mercer.search.Calibration", c="c"), "m"), classes=labels("c"),
    calibration=Part("mercer.search.Calibration", c="c"), decision=one("Decision", c="c"))
declare("model", "mercer.search.NumberBlend", members=MEMBERS, weights=reals("m", 0), spread=one("Spread"),
    unseen=Part("mercer.machines.UnseenErrors"), log=Truth())
declare("part", "mercer.search.Metric", **{key: Text() for key in ("key", "name", "meaning", "expectation")},
    **{key: Truth() for key in ("percent", "greater_is_better", "of_target")})
DIFFERENCE: dict[str, Field] = {"value": UNKNOWN, "low": UNKNOWN, "high": UNKNOWN}
METRIC = Part("mercer.search.Metric")
declare("part", "mercer.search.Measure", metric=METRIC, **DIFFERENCE, std_error=UNKNOWN, n_folds=Whole(),
    n_samples=Whole())
declare("part", "mercer.search.Difference", **DIFFERENCE)
declare("part", "mercer.search.CandidateResult", name=Text(), settings=Map(REPORT),
    measure=Part("mercer.search.Measure"), difference=Part("mercer.search.Difference"), fit_seconds=UNKNOWN,
    predict_seconds=UNKNOWN, status=Text(), note=Text())
declare("part", "mercer.search.SearchResult", metric=METRIC,
    candidates=Several(Part("mercer.search.CandidateResult")), listed=Several(Text()), rule=Text(),
    **{key: Maybe(Text()) for key in ("reference", "winner", "stopped", "baseline")}, settings=Map(REPORT),
    measure=Maybe(Part("mercer.search.Measure")), n_fitted=Whole(), n_splits=Whole(), n_trained=Whole(),
    blend=Map(Number(0)), gain=Part("mercer.search.Difference"), versus=Part("mercer.search.Difference"),
    decision=Text(), remarks=Several(Text()))
ANY_CANDIDATE = ("machine", "learner", "kernel", "scaler", "pipeline", "of sklearn", "candidate")
declare("candidate", "mercer.search.Candidate", name=Text(), estimator=Plain(*ANY_CANDIDATE),
    grid=Map(Plain("kernel", "learner")), growth=Number(), on_request=Truth())
SEARCH: dict[str, Field] = {"candidates": Plain(*ANY_CANDIDATE), "cv": CV, "encoder": Plain("encoder"),
    "encoder_": Sometimes(Maybe(Part("encoder"))), "model_": Sometimes(Maybe(Part("model", "pipeline",
    "machine"))), "best_estimator_": Sometimes(Maybe(Part("pipeline", "machine", "learner", "of sklearn"))),
    "best_kernel_": Sometimes(Maybe(KERNEL)), "held_out_": Sometimes(Maybe(one("HeldOut"))),
    "result_": Part("mercer.search.SearchResult"), **{key: Sometimes(REPORT) for key in ("best_index_",
    "compile_seconds_", "cv_results_")}}
estimator("search", "mercer.KernelSearchCV", **SEARCH, _classes=Maybe(labels("c")),
    _positive=Sometimes(Maybe(Whole())))
estimator("search", "mercer.KernelSearchRegressor", **SEARCH)

# Records that match

part("Terms", "matching.terms.Terms", what=Text("letters", "digits", "words"), places=indices("t",
    most=2**20 - 1), weights=reals("t", 0), of_new=Number(0))
part("SpelledColumn", "matching.columns.Spelled", name=Text(), terms=Several(one("Terms")), has_edits=Truth())
part("OrderedColumn", "matching.columns.Ordered", name=Text(), written=Either(Text(), one("NumberFormat")),
    scales=reals("s", TINY, may_be_empty=False), spelling=Maybe(one("SpelledColumn")))
part("Comparison", "matching.comparison.Comparison", columns=Several(Part("mercer.parts.OrderedColumn",
    "mercer.parts.SpelledColumn"), "c"))
part("Similarities", "matching.comparison.Similarities", values=reals("n k"), edits=reals("n c"),
    known=flags("n c"))
part("Judged", "matching.judged.Judged", keys=Array("n 2", "u"), answer=flags("n"), found=one("Similarities",
    n="n", k="k", c="c"), unsure=Array("u 2", "u"))
part("MatchDecision", "matching.decision.Decision", gaps=reals("c"), edits=reals("c", 0),
    edit_levels=reals("c", 0), weights=reals("k", 0), levels=reals("k"), column_of=indices("k", below="c"),
    intercept=Number(), curves=reals("v 65"))
part("Sigmoid", "matching.probability.Sigmoid", slope=POSITIVE, offset=Number())
part("Share", "matching.probability.Share", **DIFFERENCE)
declare("part", "mercer.matching.MatchError", n_pairs=Whole(), n_matches=Whole(), log_loss=UNKNOWN,
    **{key: one("Share") for key in ("f1", "precision", "recall", "error")})
declare("part", "mercer.matching.RecordKernel", comparison=one("Comparison"), weights=reals("k", 0))
declare("part", "mercer.Pairs")
ERROR = Sometimes(Maybe(Part("mercer.matching.MatchError")))
declare("matcher", "mercer.PairMatcher", comparison_=one("Comparison", c="c"), judged_=one("Judged", k="k",
    c="c"), decision_=one("MatchDecision", k="k", c="c"), drawn_=Sometimes(Maybe(one("Similarities", k="k",
    c="c"))), probability_=one("Sigmoid"), threshold_=Sometimes(Maybe(Number(0, 1))),
    penalty_=Sometimes(Maybe(Number(0))), error_=ERROR, reference_=ERROR, notes_=Several(Text()))


def check(*names: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Have a function look at the objects of some classes, when their fields are in order."""

    def register(look: Callable[[Any], None]) -> Callable[[Any], None]:
        for name in names:
            DECLARED[name] = DECLARED[name]._replace(check=look)
        return look

    return register


@check("sklearn.svm.SVC")
def check_libsvm(machine: Any) -> None:
    """Check what LIBSVM takes on trust: types, and how many support vectors each class has."""
    if not hasattr(machine, "support_"):
        return
    support, counts, vectors = machine.support_, machine._n_support, machine.support_vectors_
    refuse(support.dtype != np.int32 or counts.dtype != np.int32, "has places of a wrong type")
    refuse(counts.sum(dtype=np.int64) != len(support) or len(counts) < 2, "has other vectors than it counts")
    numbers = (vectors, machine._dual_coef_, machine._intercept_, machine._probA, machine._probB)
    fits = all(one.dtype == np.float64 and one.flags.c_contiguous for one in numbers)
    refuse(not fits, "has numbers of a wrong type")
    refuse(machine._sparse or len(machine._probA) != len(machine._probB), "is sparse, or half calibrated")
    if isinstance(machine.kernel, str):
        refuse(vectors.shape != (len(support), machine.shape_fit_[1]), "has vectors of another length")
    else:
        rows = getattr(machine, "_BaseLibSVM__Xfit", None)
        refuse(rows is None, "has a kernel and no rows that it was fitted to")


@check("mercer.kernels.Forest")
def check_trees(forest: Any) -> None:
    """Check that children come after their parents, so that each way down ends."""
    itself = np.arange(len(forest.low))
    refuse(np.any(forest.low < itself) or np.any(forest.high < itself), "has nodes above their parents")


@check("mercer.kernels.Series")
def check_series(series: Any) -> None:
    """Check that there is a constant for each feature where these are apart, and nowhere else."""
    refuse(np.ndim(series.constants) != 1 + series.by_feature, "has constants of another form")


@check("mercer.parts.MatchDecision")
def check_curves(decision: Any) -> None:
    """Check that there is a curve for each kernel, and an edit distance and a gap of each column; or none."""
    c, k, n = len(decision.gaps), len(decision.weights), len(decision.curves)
    refuse(n not in (0, k + 2 * c, k + 2 * c + c * (c - 1) // 2), "has another number of curves")


@check("mercer.parts.Sum")
def check_sum(trees: Any) -> None:
    """Check that a leaf has a value for its tree's column, or for each."""
    refuse(trees.value.shape[1] not in (1, len(trees.start)), "has leaves with values of other columns")


@check(*(name for name, declaration in DECLARED.items() if declaration.group == "machine"))
def check_machines(machine: Any) -> None:
    """Check that there is a function for each pair of classes, each class, or each target."""
    if not hasattr(machine, "machines_"):
        return
    n = sum(len(function.intercept) for function in machine.machines_)
    refuse(n != np.size(machine.intercept_), "has another number of functions than of intercepts")
    if hasattr(machine, "classes_"):
        c = len(machine.classes_)
        needed = (c * (c - 1) // 2, c if c > 2 else 1)
        refuse(n not in needed, "has another number of functions than its classes need")
