"""The best kernel in the span of a superkernel [OSW02]."""
