r"""Many SVMs on one Gram matrix at once, on the device of its tensor [LL05, (P2)].

Pairs of classes, folds and penalties make many problems of the same rows,

.. math:: \min_c \; \tfrac12 c^\top K c - y^\top c
          \quad\text{s.t.}\quad l \le c \le u,\quad \textstyle\sum_i c_i = 0,

each on some of them. They take the steps of `stump_svm.driver` side by side: the hinge is rounded by a
proximal term around a centre ĉ, :math:`c(f) = \operatorname{clip}(\hat c + \sigma (y - f - b), l, u)`; Newton
steps solve :math:`(K_{JJ} + \sigma^{-1}) x - \Delta b = r` for the rows J between their bounds, and when that
is done, the centre moves to c. What they share is K, which is read twice in a step of all problems together,
and the launches of a device. K has the precision of its samples; all sums are in double precision.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch

from mercer.solvers.stump_svm.driver import DIGITS, MOST_TRIALS, SETTINGS
from mercer.solvers.stump_svm.losses import WIDTH
from mercer.solvers.stump_svm.rows import HUGE, SUM_TOL, TINY, TYPICAL

BALANCE_STEPS = 100
AT_ONCE = 2**28  # numbers of K that are in double precision at a time: 2 GB
SYSTEMS_AT_ONCE = 2**30  # numbers of the Newton systems that are solved at a time: 8 GB
LEAST_FILL = 0.8  # a smaller system than this share of the largest of its batch waits for another one
ROUNDING = 1e-8  # of the diagonal: what keeps a system of repeated rows positive definite, in any precision
MOST_STIFF = 1e4  # stiffer, what rounding has left of y − f would move the coefficients
PANEL = 256  # columns of a batch of matrices that are factored at a time


class ManySVMs(NamedTuple):
    """The solutions, one row or entry for each problem."""

    coef: Any  # (P, m), c of the problem's rows
    intercept: Any  # for K as it is stored
    objective: Any  # of (P2), at the minimum
    residual: Any  # LIBSVM's: the largest violation of the optimality conditions
    n_iter: Any


class Problems(NamedTuple):
    """Two-class problems: the rows of K that each has, and their classes and penalties."""

    rows: Any  # (P, m)
    y: Any  # (P, m), −1 or 1
    C: Any  # (P, m); zero fills up a problem of fewer than m rows


def store_gram(gram: Callable[[Any, Any], Any], X: Any) -> tuple[Any, Any]:
    """Return the Gram matrix in the precision of X, centred, K_ij − m_i − m_j, and m.

    Centred, it has more digits left, and need be positive semi-definite among coefficients of sum zero alone.
    """
    K = torch.empty((len(X), len(X)), dtype=X.dtype, device=X.device)
    for x, out in zip(_blocks(X, len(X)), _blocks(K, len(X)), strict=True):
        out.copy_(gram(x, X))
    means = torch.cat([k.double().mean(1) for k in _blocks(K, len(X))])
    means -= 0.5 * means.mean()
    for k, m in zip(_blocks(K, len(X)), _blocks(means, len(X)), strict=True):
        k.copy_(k.double() - (m[:, None] + means))
    return K, means


def _blocks(array: Any, width: int) -> Any:
    return array.split(max(1, AT_ONCE // width))


def solve_many(
    K: Any, problems: Problems, *, tol: float, max_iter: int, start: ManySVMs | None = None
) -> ManySVMs:
    """Solve all problems, until LIBSVM's residual is at most `tol` and the relative gap a tenth of it.

    If the residual is a hundredth of `tol`, the gap does not matter: for a large C it has no digits. `start`
    is the solution for smaller penalties.
    """
    P = len(problems.y)
    found = ManySVMs(torch.zeros_like(problems.y), *(problems.y.new_zeros((4, P))))
    state = _begin(K, problems, start)
    for n_iter in range(1, max_iter + 1):
        state = state._replace(bias=_balance(state))
        seen = _look(K, state)
        done = _is_solved(seen, tol) | (n_iter == max_iter)
        for kept, new in zip(found, _settled(state, seen, n_iter), strict=True):
            kept[state.number[done]] = new[done]
        if bool(done.all()):
            break
        state, seen = state.select(~done), seen.select(~done)
        move = _is_center_solved(state, seen)
        _move_centers(state, seen, move)
        _step(K, state, seen, ~move)
    return found


class State(NamedTuple):
    """Where the problems are. Numbers of a problem have the shape (P, 1)."""

    number: Any  # (P,), its place among all
    rows: Any
    y: Any
    lower: Any
    upper: Any
    soft: Any  # σ_i at the stiffness one
    stiffness: Any
    diagonal: Any  # the mean diagonal of the centred K
    center: Any  # ĉ
    coef: Any  # a, with f = K a + b
    value: Any  # K a
    bias: Any  # b
    n_steps: Any  # since the centre moved

    def select(self, some: Any) -> "State":
        """Return some of the problems."""
        return State(*(part[some] for part in self))

    def respond(self, value: Any, bias: Any) -> tuple[Any, Any]:
        """Return c(f), and σ where it is between its bounds."""
        sigma = self.stiffness * self.soft
        c = (self.center + sigma * (self.y - value - bias)).clamp(self.lower, self.upper)
        return c, sigma * ((c > self.lower) & (c < self.upper))


class Look(NamedTuple):
    """What there is to see at a point."""

    coef: Any  # c(f)
    curvature: Any
    away: Any  # c − a
    away_value: Any  # K (c − a)
    mass: Any  # Σc
    residual: Any  # of c
    intercept: Any  # with c
    objective: Any  # of (P2), at c
    gap: Any  # of c
    size: Any  # of the objective, or of cᵀKc, of which the gap is a share
    lack: Any  # the gap of the rounded problem …
    enough: Any  # … at which the centre may move

    def select(self, some: Any) -> "Look":
        """Return some of the problems."""
        return Look(*(part[some] for part in self))


def _begin(K: Any, problems: Problems, start: ManySVMs | None) -> State:
    rows, y, C = problems
    zero, nothing = torch.zeros_like(y), y.new_zeros((len(y), 1))
    real = (C > 0.0).double()
    count, trace = real.sum(1, keepdim=True), K.diagonal().double()[rows]
    # the mean diagonal, less the mean
    diagonal = _sum(real * (trace - multiply(K, rows, real) / count)) / count
    typical = torch.where(diagonal > 0.0, TYPICAL / diagonal, HUGE)
    lower, upper, soft = y.clamp(max=0.0) * C, y.clamp(min=0.0) * C, (C / WIDTH).clamp(max=typical)
    coef, value, bias = zero, zero, nothing
    if start is not None:
        value = multiply(K, rows, start.coef)
        # while most rows are at their bounds, the solution grows with C; once few are, it stays
        stretch = _sum(y * start.coef) / _sum(start.coef * value).clamp(min=TINY)
        room = torch.where(start.coef != 0.0, C / start.coef.abs().clamp(min=TINY), HUGE)
        stretch = torch.minimum(stretch.clamp(min=1.0), room.amin(1, keepdim=True))
        coef, value, bias = stretch * start.coef, stretch * value, start.intercept[:, None]
    return State(
        torch.arange(len(y), device=y.device),
        rows,
        y,
        lower,
        upper,
        soft.clamp(min=TINY),
        nothing + 1.0,
        diagonal.clamp(min=0.0),
        coef,
        coef.clone(),
        value,
        bias,
        nothing.clone(),
    )


def multiply(K: Any, rows: Any, v: Any) -> Any:
    """Return K v of each problem, at its rows. K is read once, and where all v are zero not at all."""
    whole = v.new_zeros((len(v), len(K))).scatter_add_(1, rows, v)
    some = (whole != 0.0).any(0).nonzero()[:, 0]
    if 2 * len(some) < len(K):
        out = torch.zeros_like(whole)
        for part in _blocks(some, len(K)):
            out += whole[:, part] @ K[part].double()
    else:
        out = torch.cat([whole @ k.double().T for k in _blocks(K, len(K))], 1)
    return out.gather(1, rows)


def _sum(v: Any) -> Any:
    return v.sum(1, keepdim=True)


def _balance(state: State) -> Any:
    """Return the intercepts at which the coefficients sum to zero, by Newton steps in an interval."""
    bias, far = state.bias, 0.01
    low, high = torch.full_like(bias, -torch.inf), torch.full_like(bias, torch.inf)
    done = torch.zeros_like(bias, dtype=torch.bool)
    for _ in range(BALANCE_STEPS):
        c, curvature = state.respond(state.value, bias)
        mass, slope = _sum(c), _sum(curvature)  # the sum never increases with the intercept
        done |= mass.abs() <= SUM_TOL * _sum(c.abs())
        low, high = torch.where(mass > 0.0, bias, low), torch.where(mass > 0.0, high, bias)
        step = torch.where(slope > 0.0, mass / slope.clamp(min=TINY), far * mass.sign())
        middle, new = 0.5 * (low + high), bias + step
        new = torch.where(((new <= low) | (new >= high)) & middle.isfinite(), middle, new)
        done |= new == bias
        if bool(done.all()):
            break
        bias, far = torch.where(done, bias, new), 2.0 * far
    return bias


def _look(K: Any, state: State) -> Look:
    """Return what there is to see. K c is known, and so are the gap and LIBSVM's residual of c itself."""
    c, curvature = state.respond(state.value, state.bias)
    away = c - state.coef
    away_value = multiply(K, state.rows, away)
    value = state.value + away_value
    residual, intercept = _measure_violation(state, c, value)
    linear, square, loss = _sum(c * state.y), _sum(c * value), _loss(state, value + intercept)
    primal = 0.5 * square + loss
    lack = 0.5 * _sum(away * away_value)
    here = 0.5 * _sum(state.coef * state.value) + _loss(state, state.value + state.bias)
    rounding = here - (linear - 0.5 * square) - lack
    moved = (c - state.center) ** 2 / (2.0 * state.stiffness * state.soft)
    enough = SETTINGS.center_tol * torch.minimum(rounding, _sum(moved))
    return Look(
        c,
        curvature,
        away,
        away_value,
        _sum(c),
        residual,
        intercept,
        0.5 * square - linear,
        primal + 0.5 * square - linear,
        torch.maximum(torch.minimum(primal, square), SETTINGS.least_penalty * primal),
        lack,
        torch.maximum(enough, DIGITS * here.abs()),
    )


def _loss(state: State, f: Any) -> Any:
    e = state.y - f
    return _sum(torch.maximum(state.upper * e, state.lower * e))


def _measure_violation(state: State, c: Any, value: Any) -> tuple[Any, Any]:
    """Return LIBSVM's residual, and the intercept: the mean of y − K c over free rows or the middle."""
    g, rises, falls = state.y - value, c < state.upper, c > state.lower
    rise = torch.where(rises, g, -torch.inf).amax(1, keepdim=True)
    fall = torch.where(falls, g, torch.inf).amin(1, keepdim=True)
    free = (rises & falls).double()
    count = _sum(free)
    return rise - fall, torch.where(count > 0.0, _sum(g * free) / count.clamp(min=1.0), 0.5 * (rise + fall))


def _is_solved(seen: Look, tol: float) -> Any:
    gap = torch.maximum(SETTINGS.gap_tol * tol * seen.size, SETTINGS.least_gap * seen.objective.abs())
    enough = (seen.residual <= tol) & (seen.gap <= gap)
    return (enough | (seen.residual <= SETTINGS.least_residual * tol))[:, 0]


def _settled(state: State, seen: Look, n_iter: int) -> Iterator[Any]:
    numbers = seen.intercept, seen.objective, seen.residual, torch.full_like(seen.gap, float(n_iter))
    return iter([seen.coef, *(number[:, 0] for number in numbers)])


def _is_center_solved(state: State, seen: Look) -> Any:
    return ((state.n_steps > 0) & (seen.lack <= seen.enough))[:, 0]


def _move_centers(state: State, seen: Look, move: Any) -> None:
    """Move the centre, and the point with it, to c; round less."""
    quick = state.n_steps[move] <= SETTINGS.few_steps
    growth = torch.where(quick, SETTINGS.growth, SETTINGS.slow_growth)
    state.stiffness[move] = (growth * state.stiffness[move]).clamp(max=MOST_STIFF)
    state.center[move] = state.coef[move] = seen.coef[move]
    state.value[move] += seen.away_value[move]
    state.n_steps[move] = 0.0


def _step(K: Any, state: State, seen: Look, go: Any) -> None:
    """Make a Newton step with those problems whose centre stays."""
    if not bool(go.any()):
        return
    some, look = state.select(go), seen.select(go)
    change, bias = newton_steps(K, some, look)
    value = multiply(K, some.rows, change)
    share = _line_search(some, look, change, value, bias)
    state.coef[go] += share * change
    state.value[go] += share * value
    state.bias[go] += share * bias
    state.n_steps[go] += 1.0


def newton_steps(K: Any, state: State, seen: Look) -> tuple[Any, Any]:
    """Return the steps of the coefficients and intercepts to the minimum if the curvature stays.

    The systems differ in size: those of about the same size are filled up with ones, and solved together.
    """
    sizes = (seen.curvature > 0.0).sum(1)
    order = (seen.curvature > 0.0).int().argsort(dim=1, descending=True)  # rows between their bounds first
    step, bias = seen.away.clone(), torch.zeros_like(seen.mass)
    for batch in _batches(sizes.tolist()):
        q = int(sizes[batch[0]])
        p = torch.tensor(batch, device=sizes.device)
        J = order[p, :q]
        real = torch.arange(q, device=J.device) < sizes[p][:, None]
        place = state.rows[p].gather(1, J)
        stiff = 1.0 / seen.curvature[p].gather(1, J).clamp(min=TINY) + ROUNDING * state.diagonal[p]
        right = torch.stack([seen.away_value[p].gather(1, J), torch.ones_like(stiff)], 2) * real[:, :, None]
        build = partial(_build_systems, K, place, real, stiff)
        x, ones = solve_positive(build, right).unbind(2)
        b = (seen.mass[p] - _sum(x)) / _sum(ones)
        bias[p] = b
        step[p] = step[p].scatter_add(1, J, -(x + b * ones) * real)
    return step, bias


def _build_systems(K: Any, place: Any, real: Any, stiff: Any, extra: Any) -> Any:
    """Return K_JJ + σ⁻¹ of each problem, and ones on the diagonal beyond its rows."""
    A = K[place[:, :, None], place[:, None, :]].double()
    A *= real[:, :, None]
    A *= real[:, None, :]
    diagonal = A.diagonal(dim1=1, dim2=2)
    diagonal += torch.where(real, stiff + extra * diagonal.mean(1, keepdim=True), 1.0)
    return A


def _batches(sizes: list[int]) -> Iterator[list[int]]:
    """Return the problems whose systems are solved together, the largest first; none of no size."""
    order = sorted((p for p, size in enumerate(sizes) if size > 0), key=lambda p: -sizes[p])
    while order:
        q = sizes[order[0]]
        n_alike = sum(sizes[p] >= LEAST_FILL * q for p in order)
        n = max(1, min(n_alike, SYSTEMS_AT_ONCE // q**2))
        yield order[:n]
        order = order[n:]


def solve_positive(build: Callable[[Any], Any], right: Any) -> Any:
    """Return A⁻¹ right for a batch of positive definite matrices.

    `build` returns them, with a share of their diagonal added to it: more and more where rounding has made
    one indefinite.
    """
    extra = right.new_zeros((len(right), 1))
    while True:
        A = build(extra)
        failed = _factor(A)
        if not bool(failed.any()) or float(extra.max()) > 1.0:
            return torch.cholesky_solve(right, A)
        extra = torch.where(failed[:, None], (10.0 * extra).clamp(min=ROUNDING), extra)


def _factor(A: Any) -> Any:
    """Factor a batch of matrices in place, A = L Lᵀ; return which have no factor. Above L, they are not zero.

    By halves, nearly all of it is products of matrices, at which a GPU is best.
    """
    q = A.shape[1]
    if q <= PANEL:
        L, info = torch.linalg.cholesky_ex(A)
        A.copy_(L)
        return info > 0
    h = q // 2
    upper, left, lower = A[:, :h, :h], A[:, h:, :h], A[:, h:, h:]
    failed = _factor(upper)
    _divide(left, upper)
    lower.baddbmm_(left, left.mT, alpha=-1.0)
    return failed | _factor(lower)


def _divide(B: Any, L: Any) -> None:
    """Replace a batch of B by B L⁻ᵀ, for lower triangular L."""
    q = L.shape[1]
    if q <= PANEL:
        B.copy_(torch.linalg.solve_triangular(L, B.mT, upper=False).mT)
        return
    h = q // 2
    _divide(B[:, :, :h], L[:, :h, :h])
    B[:, :, h:].baddbmm_(B[:, :, :h], L[:, h:, :h].mT, alpha=-1.0)
    _divide(B[:, :, h:], L[:, h:, h:])


def _line_search(state: State, seen: Look, change: Any, value: Any, bias: Any) -> Any:
    """Return about the share of each step where the objective is least, mostly 1.

    Its derivative never decreases along the step: regula falsi goes on until a tenth of it is left.
    """
    df = value + bias
    start, growth = _sum(change * state.value), _sum(change * value)
    first = -_sum(seen.away_value * change) - seen.mass * bias

    def slope_at(share: Any) -> Any:
        c, _ = state.respond(state.value + share * df, state.bias)
        return start + share * growth - _sum(c * df)

    share = torch.ones_like(bias)
    right_slope = slope_at(share)
    done = (right_slope <= 0.1 * first.abs()) | (first >= 0.0)
    left, left_slope, right = torch.zeros_like(bias), first, torch.ones_like(bias)
    share = torch.where(done, share, 0.5)
    for _ in range(MOST_TRIALS):
        if bool(done.all()):
            break
        slope = slope_at(share)
        done |= slope.abs() <= 0.1 * first.abs()
        over = slope > 0.0  # an end that stays counts for less and less
        left, right = torch.where(over, left, share), torch.where(over, share, right)
        left_slope, right_slope = (
            torch.where(over, 0.5 * left_slope, slope),
            torch.where(over, slope, 0.5 * right_slope),
        )
        part = (left_slope / (left_slope - right_slope)).clamp(0.01, 0.99)
        share = torch.where(done, share, left + (right - left) * part)
    return share
