"""The criteria card: what the best operator for a question costs elsewhere."""

from sclcs.benchmark.card.aims import Aim, find_aims
from sclcs.benchmark.card.card import Card, make_card, pareto_front

__all__ = ["Aim", "Card", "find_aims", "make_card", "pareto_front"]
