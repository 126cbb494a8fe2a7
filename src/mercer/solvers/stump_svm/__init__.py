"""The SVM over all decision stumps, without a Gram matrix [LL05]."""
