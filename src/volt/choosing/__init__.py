"""Candidates -> Choice: the third arrow."""
