"""Gram matrices of many kernels at once: dense, factored, or powers of one."""
