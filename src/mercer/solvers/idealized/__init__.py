"""Idealized kernels: a quadratic program over pairs of samples [KT03]."""
