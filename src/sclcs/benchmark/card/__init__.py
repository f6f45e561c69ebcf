"""The criteria card: what the best operator for a question costs elsewhere."""

from sclcs.benchmark.card.aims import Aim, find_aims
from sclcs.benchmark.card.card import Card, card_inquiries, make_card, pareto_front

__all__ = ["Aim", "Card", "card_inquiries", "find_aims", "make_card", "pareto_front"]
