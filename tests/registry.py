"""Every estimator of mercer, one instance each of the ways to compute it."""

from mercer import PerceptronSVC, PerceptronSVCCV, StumpSVC, StumpSVCCV

ESTIMATORS = [
    StumpSVC(),
    StumpSVC(max_bins=16, multi_class="ovr"),
    StumpSVCCV(Cs=3, cv=3),
    PerceptronSVC(),
    PerceptronSVC(method="sliced", n_directions=8, random_state=0),
    PerceptronSVCCV(Cs=3, cv=3),
]
