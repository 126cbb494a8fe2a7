"""The public plots: each draws one thing into matplotlib axes."""
