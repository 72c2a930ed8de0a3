"""What everything else stands on: errors, atomic files, progress, optional dependencies."""
