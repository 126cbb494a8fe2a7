"""Boosting of Gaussian mixtures over pairs of samples [HBW06]."""
