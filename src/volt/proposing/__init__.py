"""WordCounts -> Candidates: the second arrow."""
