"""Scores made of pairs of samples: which pairs, their means and spreads, their order."""
