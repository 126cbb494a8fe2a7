"""Groups of records from pairs that match, where some pairs must be in one group and some must not."""

import heapq
from typing import NamedTuple

import numpy as np

from mercer._typing import Array, Index
from mercer.pairs import connected_sets

NONE = np.empty((0, 2), dtype=np.intp)


class Links(NamedTuple):
    """Judged pairs, by row numbers: those that must be in one group, and those that must not."""

    must: Index = NONE
    cannot: Index = NONE


def group_pairs(
    n: int, pairs: Index, likeness: Array, links: Links, *, least: float, average: bool, n_groups: int = 1
) -> Index:
    """Return the group of each of n records, numbered from 0 in the order of their first records.

    Groups grow by one merge after another, the most alike first, as long as these are alike enough and there
    are more than `n_groups`. No merge joins two records that must not be together.

    Parameters
    ----------
    n : int
        The number of records.
    pairs : array of shape (n_pairs, 2)
        Pairs of different records, each once. All others count as 0.
    likeness : array of shape (n_pairs,)
        How alike they are.
    links : Links
        Judged pairs.
    least : float
        Groups that are less alike are not merged.
    average : bool
        Whether two groups are as alike as their records are on average, or as the most alike ones.
    n_groups : int
        How many groups there should be at least.
    """
    start = connected_sets(links.must, n)
    torn = start[links.cannot[:, 0]] == start[links.cannot[:, 1]]
    if torn.any():
        i, j = links.cannot[torn.argmax()]
        raise ValueError(
            f"rows {i} and {j} are judged different, but other pairs that are judged the same connect them: "
            "correct one of these"
        )
    growing = _Growing(start, pairs, likeness, links.cannot, average=average)
    growing.merge(least, n_groups)
    group = np.array([growing.leader(number) for number in start], dtype=np.intp)
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    order: Index = np.argsort(np.argsort(first))
    return order[number]


class _Growing:
    """Groups in the making: for each, what it has in common with others, and with which it must not be."""

    def __init__(self, start: Index, pairs: Index, likeness: Array, cannot: Index, *, average: bool) -> None:
        self.average = average
        self.size = np.bincount(start).tolist()
        self.merged_into = list(range(len(self.size)))
        self.common: list[dict[int, float]] = [{} for _ in self.size]  # sums, or the largest
        self.apart: list[set[int]] = [set() for _ in self.size]
        for a, b in start[cannot]:
            self.apart[a].add(int(b))
            self.apart[b].add(int(a))
        for (a, b), value in zip(start[pairs].tolist(), likeness.tolist(), strict=True):
            if a != b:
                self._add(a, b, value)
        self.heap = [self._entry(a, b) for a, its in enumerate(self.common) for b in its if a < b]
        heapq.heapify(self.heap)

    def leader(self, group: int) -> int:
        """Return the group that a group has become part of."""
        while self.merged_into[group] != group:
            group = self.merged_into[group]
        return group

    def merge(self, least: float, n_groups: int) -> None:
        """Merge the most alike groups, as long as they are alike enough."""
        left = len(self.size)
        while self.heap and left > n_groups:
            negative, a, b = heapq.heappop(self.heap)
            if self.merged_into[a] != a or self.merged_into[b] != b or -negative != self._alike(a, b):
                continue  # of groups that have grown since
            if -negative < least:
                return
            if b not in self.apart[a]:
                self._join(a, b)
                left -= 1

    def _join(self, a: int, b: int) -> None:
        if len(self.common[a]) < len(self.common[b]):
            a, b = b, a
        self.merged_into[b] = a
        self.size[a] += self.size[b]
        for other in self.apart[b]:
            self.apart[other].discard(b)
            self.apart[other].add(a)
        self.apart[a] |= self.apart[b]
        self.common[a].pop(b)
        self.common[b].pop(a)
        for other, value in self.common[b].items():
            self.common[other].pop(b)
            self._add(a, other, value)
        for other in self.common[a] if self.average else self.common[b]:
            heapq.heappush(self.heap, self._entry(a, other))

    def _add(self, a: int, b: int, value: float) -> None:
        before = self.common[a].get(b)
        if before is not None:
            value = before + value if self.average else max(before, value)
        self.common[a][b] = self.common[b][a] = value

    def _entry(self, a: int, b: int) -> tuple[float, int, int]:
        return -self._alike(a, b), a, b

    def _alike(self, a: int, b: int) -> float:
        common = self.common[a].get(b, 0.0)
        return common / (self.size[a] * self.size[b]) if self.average else common
