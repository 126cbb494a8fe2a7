"""From pairs to decisions: which records match, which belong together, and which pair to judge next."""

from typing import TYPE_CHECKING

from mercer.lazy import open_when_asked

if TYPE_CHECKING:
    from mercer.matching.matcher import PairMatcher
    from mercer.matching.probability import MatchError
    from mercer.matching.record_kernel import RecordKernel

__all__ = ["MatchError", "PairMatcher", "RecordKernel"]

_HOMES = {"MatchError": "probability", "PairMatcher": "matcher", "RecordKernel": "record_kernel"}
__getattr__, __dir__ = open_when_asked(__name__, _HOMES)
