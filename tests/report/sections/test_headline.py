"""The top of the page: what must not be overlooked is said there."""
