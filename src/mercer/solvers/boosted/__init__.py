"""Boosting of a kernel over pairs of samples [CKS02]."""
