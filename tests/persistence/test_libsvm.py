"""A support vector machine whose arrays do not fit together is refused: libsvm would read beyond them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import mercer
from forgery import ends_of_loading, save_unchecked
from mercer.kernels import Stump
from mercer.persistence import ModelFileError

X, y = load_iris(return_X_y=True)


def lengthen(array):
    return np.tile(array, 200)


# what an attacker does to the attributes of a fitted SVC
TAMPERINGS = {
    "rows of support vectors, 200 times": lambda a: a.update(support_=lengthen(a["support_"])),
    "all counts and rows, 200 times": lambda a: a.update(
        support_=lengthen(a["support_"]), _n_support=200 * a["_n_support"]
    ),
    "counts of too many": lambda a: a.update(_n_support=200 * a["_n_support"]),
    "counts below zero": lambda a: a.update(
        _n_support=a["_n_support"] + np.array([-(10**6), 10**6, 0], np.int32)
    ),
    "counts of fewer classes": lambda a: a.update(_n_support=a["_n_support"][:2]),
    "counts of more classes": lambda a: a.update(_n_support=np.append(a["_n_support"], np.int32(0))),
    "counts in other numbers": lambda a: a.update(_n_support=a["_n_support"].astype(np.int64)),
    "fewer coefficients": lambda a: a.update(_dual_coef_=a["_dual_coef_"][:, :3].copy()),
    "coefficients of fewer classes": lambda a: a.update(_dual_coef_=a["_dual_coef_"][:1]),
    "coefficients in another order": lambda a: a.update(_dual_coef_=np.asfortranarray(a["_dual_coef_"])),
    "no intercepts": lambda a: a.update(_intercept_=np.zeros(0)),
    "one scale of probabilities": lambda a: a.update(_probA=np.zeros(1)),
    "scales of probabilities that differ": lambda a: a.update(_probA=np.zeros(3)),
    "fewer support vectors": lambda a: a.update(support_vectors_=a["support_vectors_"][:5]),
    "narrower support vectors": lambda a: a.update(support_vectors_=a["support_vectors_"][:, :1].copy()),
    "another number of features": lambda a: a.update(n_features_in_=10**6),
    "no number of features": lambda a: a.pop("n_features_in_"),
    "fewer classes": lambda a: a.update(classes_=a["classes_"][:2]),
    "a kernel matrix in the place of rows": lambda a: a.update(kernel="precomputed"),
    "a function in the place of a kernel": lambda a: a.update(kernel=np.add, _BaseLibSVM__Xfit=X),
    "a kernel that does not exist": lambda a: a.update(kernel="quantum"),
    "another machine": lambda a: a.update(_impl="nu_svr"),
    "sparse": lambda a: a.update(_sparse=True),
    "a shape that is none": lambda a: a.update(shape_fit_=(150,)),
}


def fitted(**settings):
    return SVC(**settings).fit(X, y)


@pytest.mark.parametrize("tamper", TAMPERINGS.values(), ids=TAMPERINGS)
def test_what_does_not_fit_together_is_refused(tmp_path, tamper):
    machine = fitted()
    save_unchecked(machine, tmp_path / "good.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "good.mercer").predict(X), machine.predict(X))
    tamper(vars(machine))
    save_unchecked(machine, tmp_path / "bad.mercer")
    with pytest.raises(ModelFileError, match="of a support vector machine"):
        mercer.load(tmp_path / "bad.mercer")
    with pytest.raises(TypeError, match="cannot be saved"):
        mercer.save(machine, tmp_path / "saved.mercer")


@pytest.mark.parametrize("row", [-1, 150, 2**31 - 1])
def test_columns_of_a_kernel_matrix_that_are_not_there_are_refused(tmp_path, row):
    machine = SVC(kernel="precomputed").fit(X @ X.T, y)
    machine.support_[0] = row
    save_unchecked(machine, tmp_path / "bad.mercer")
    with pytest.raises(ModelFileError, match="support_ of a support vector machine"):
        mercer.load(tmp_path / "bad.mercer")


def test_a_machine_deep_within_an_estimator_is_found(tmp_path):
    model = make_pipeline(make_union(StandardScaler()), make_pipeline(StandardScaler(), SVC())).fit(X, y)
    machine = model[-1][-1]
    machine.support_ = lengthen(machine.support_)
    save_unchecked(model, tmp_path / "bad.mercer")
    with pytest.raises(ModelFileError, match="of a support vector machine"):
        mercer.load(tmp_path / "bad.mercer")


def test_python_does_not_crash_of_it(tmp_path):
    """The oracle: skops alone loads such a file, and Python ends by a signal or with wrong numbers."""
    machine = fitted()
    machine.support_ = np.tile(machine.support_, 2000)
    ends = ends_of_loading(machine, tmp_path, "predict(numpy.zeros((9, 4)))")
    assert ends["skops"].returncode < 0  # if it no longer crashes, the check may not be needed any more
    assert ends["mercer"].returncode == 1
    assert "ModelFileError" in ends["mercer"].stderr


@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
@pytest.mark.parametrize(
    "machine",
    [
        SVC(), SVC(probability=True), SVC(kernel="linear"), NuSVC(), SVR(), NuSVR(), OneClassSVM(),
        SVC(kernel=RBF(2.0)), SVC(kernel=Stump(5.0)),
    ],
    ids=lambda machine: str(machine).partition(" at 0x")[0],  # an address differs between processes
)  # fmt: skip
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_scikit_learn_fits_is_loaded(tmp_path, machine, n_classes):
    rows = y < n_classes
    machine.fit(X[rows], y[rows])
    mercer.save(machine, tmp_path / "out.mercer")
    again = mercer.load(tmp_path / "out.mercer")
    np.testing.assert_array_equal(again.predict(X), machine.predict(X))
    if hasattr(machine, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(X), machine.predict_proba(X))


def test_machines_without_support_vectors_or_not_fitted_are_loaded(tmp_path):
    empty = SVR(epsilon=5.0).fit(X, y)
    assert len(empty.support_) == 0
    for machine in (empty, SVC(kernel="quantum")):
        mercer.save(machine, tmp_path / "out.mercer")
        mercer.load(tmp_path / "out.mercer")
