"""Many languages in one vocabulary: balance, table, floor, scripts."""
