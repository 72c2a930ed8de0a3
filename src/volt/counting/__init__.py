"""Text -> WordCounts: the first arrow."""
