"""What runs, stores, compares and shows the tables of the papers."""
