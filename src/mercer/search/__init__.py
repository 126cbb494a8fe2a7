"""Which kernel do the data need? A search among all of them, with an honest error."""

from mercer.search.candidates import Candidate, default_candidates
from mercer.search.search import KernelSearchCV

__all__ = ["Candidate", "KernelSearchCV", "default_candidates"]
