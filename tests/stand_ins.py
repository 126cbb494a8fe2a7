"""What tests share: odd base kernels, a callback that stops, a process to be interrupted, and patience."""

import signal
import subprocess
import sys
from functools import partial

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

PATIENCE = 600  # seconds for what takes one, since a machine that is busy with other things is slow


class Function(Kernel):
    """A function of the inner products as a base kernel, PSD or not."""

    def __init__(self, function):
        self.function = function

    def __call__(self, X, Y=None, eval_gradient=False):
        return self.function(X @ (X if Y is None else Y).T)

    def diag(self, X):
        return np.diag(self(X))

    def is_stationary(self):
        return False


try:
    from sklearn.callback import ProgressBar
except ImportError:  # before scikit-learn 1.9

    class ProgressBar:
        """A callback that prints that something was done."""

        def on_fit_task_begin(self, estimator, context, **_):
            """Do nothing."""

        def on_fit_task_end(self, estimator, context, **_):
            sys.stdout.write(f"{type(estimator).__name__} - {context.task_name}")


class Stop:
    """A callback that stops after so many steps of a name."""

    def __init__(self, n_steps, name):
        self.n_steps = n_steps
        self.name = name
        self.seen = 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **_):
        pass

    def on_fit_task_end(self, estimator, context, **_):
        self.seen += context.task_name == self.name
        return self.seen >= self.n_steps


def interruptible(command, folder):
    """Start a command that Ctrl-C interrupts, which one that was started in the background ignores."""
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
