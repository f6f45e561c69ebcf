"""
The winner in a scikit-learn pipeline
=====================================

``FCTransformer`` takes scans as nilearn gives them (time x region) and is a step like any other.
"""

import numpy as np
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import sclcs
from sclcs.stats import rank

cohort = sclcs.simulate_cohort(60, 1, 12, length=120, stride=120, group=0.2, seed=8)
half = np.arange(len(cohort)) % 2 == 0
chosen = rank(cohort.take(np.flatnonzero(half)), "diagnosis", "panel", permutations=0, bootstrap=0)
winner = chosen.groups["spi"].iloc[0]
print("chosen on one half of the subjects:", winner)

# %%
# Judged on the other half: an operator is never judged on the subjects that chose it.

scans = [sample.T for sample in cohort.signals[~half]]
labels = cohort.labels("diagnosis")[~half]
pipeline = make_pipeline(sclcs.FCTransformer(winner, vectorize=True), RidgeClassifier(alpha=10.0))
print("accuracy on the other half:", cross_val_score(pipeline, scans, labels, cv=5).mean().round(2))

# %%
# What the winner measures: its mean matrix over the subjects of the other half.

features = sclcs.FCTransformer(winner).fit_transform(scans)
sclcs.report.plot.matrix(features.mean(axis=0), regions=cohort.regions)
