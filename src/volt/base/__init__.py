"""What everything else uses: errors, options, output, registries, progress, optional
dependencies."""
