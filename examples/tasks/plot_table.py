"""
A table as it comes
===================

*For columns of numbers with units, categories, dates and gaps, and some wrong entries.* `TableEncoder` turns
such a table into numbers, and `ClippedScaler` brings these to one scale, which typing errors do not spoil.
Both are parts of a scikit-learn pipeline. (`KernelSearchCV` and ``mercer learn`` do the same by themselves.)
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from mercer import ClippedScaler, StumpSVC, TableEncoder

# %%
# Data
# ----
# Flats, and whether they were let within a week: if the rent is low for the area and the district, and rather
# in autumn. One area in ten is missing, and in one row of a hundred the rent was typed without its decimal
# point.

rng = np.random.default_rng(0)
n = 2000
district = rng.choice(["centre", "north", "harbour"], n)
area = rng.gamma(8.0, 8.0, n) + 15.0
date = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 730, n), unit="D")
usual = area * pd.Series(district).map({"centre": 18.0, "north": 11.0, "harbour": 14.0})
rent = usual * np.exp(0.25 * rng.standard_normal(n))
chance = 1.0 / (1.0 + np.exp(8.0 * np.log(rent / usual) - 1.5 * np.isin(date.month, [9, 10])))
let = rng.uniform(size=n) < chance
typed = np.where(rng.uniform(size=n) < 0.01, 100.0 * rent, rent)
table = pd.DataFrame(
    {
        "rent": [f"{value:,.2f} €" for value in typed],
        "area": pd.Series(area).map("{:.0f} m²".format).mask(rng.uniform(size=n) < 0.1),
        "district": district,
        "since": date.strftime("%Y-%m-%d"),
    }
)
print(table.head(3).to_string())

# %%
# Encode
# ------
# What each column has become. The encoder never sees the target.

encoder = TableEncoder().fit(table)
for column in encoder.columns_:
    print(type(column).__name__, column.name)
print(", ".join(encoder.get_feature_names_out()))

# %%
# Scale, and compare
# ------------------
# A few rents that are a hundred times too large press all others together if the range, or the standard
# deviation, is brought to one. Clipped, they are as large as a large rent is.

train, test, let_train, let_test = train_test_split(table, let, test_size=0.5, stratify=let, random_state=0)
scaled = {}
for scaler in (MinMaxScaler(), StandardScaler(), ClippedScaler()):
    model = make_pipeline(TableEncoder(), scaler, StumpSVC("cv")).fit(train, let_train)
    name = type(scaler).__name__
    scaled[name] = model[:-1].transform(test)[:, 0]
    print(f"{name:15} {100 * (1 - model.score(test, let_test)):.1f} % errors on {len(test)} new samples")

# %%
# Plot
# ----
# The rents of the new samples after each of the scalers. Where most of them are one line, a kernel that
# measures distances cannot tell them apart.

figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
for ax, (name, values) in zip(axes, scaled.items(), strict=True):
    ax.hist(values, bins=60, color="#0072b2")
    ax.set(title=name, xlabel="rent, scaled", yticks=[])
    ax.spines[["top", "right", "left"]].set_visible(False)
plt.show()
