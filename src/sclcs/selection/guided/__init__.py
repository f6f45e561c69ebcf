"""Guided core-sets: chosen so that cheap operators keep their order, with a certificate."""
