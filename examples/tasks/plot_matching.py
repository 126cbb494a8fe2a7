"""
From pairs to decisions
=======================

*For tables in which somebody is listed twice.* `PairMatcher` learns from judged pairs of rows which rows mean
the same customer, gives a probability for any two, and asks for the pairs that are worth judging.
"""

from matplotlib import pyplot as plt

from mercer import PairMatcher, Pairs
from mercer.datasets import customers

# %%
# A table of customers
# --------------------
# Names, places and numbers with typing errors: 40 of 120 people are listed twice.

table, person = customers(120, 40, random_state=0)
table.head()

# %%
# Asking
# ------
# Nothing is judged at first. Each time, somebody judges ten pairs; here the truth is known.

matcher = PairMatcher().fit(table)
for _ in range(4):
    rows = matcher.ask(table, 10)
    same = person[rows[:, 0]] == person[rows[:, 1]]
    matcher.tell(table, Pairs(rows[same], rows[~same]))

# %%
# All matches
# -----------

matches = matcher.match(table)
right = person[matches.row] == person[matches.other]
print(f"{len(matches.row)} pairs are said to match, and {right.sum()} of them do")

# %%
# Which columns decide
# --------------------

weights = matcher.column_weights_
figure, axes = plt.subplots(layout="constrained", figsize=(6, 3))
axes.barh(list(weights), list(weights.values()))
axes.set_xlabel("weight of the column")
plt.show()
