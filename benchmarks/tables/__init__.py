"""KernelSearchCV beside its rivals on tables that nobody tuned to: errors, ranks, CPU time, calibration."""
