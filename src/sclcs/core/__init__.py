"""What every room of the house uses: errors, seeds, progress, logging, safe files."""
