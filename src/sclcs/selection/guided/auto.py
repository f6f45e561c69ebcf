"""``method="auto"``: guided where pairs of samples can guide, else stratified.

It used to try several methods and take the one with the best certificate. What a certificate
expects does not tell one core-set of a size from another (``results/guided/certificate.csv``), so
nothing is chosen by it any more.
"""

from __future__ import annotations

from sclcs.benchmark import find_target
from sclcs.cohort.cohort import Cohort
from sclcs.selection.by_subject import STRATIFIED
from sclcs.selection.guided.method import GUIDED, GuidingParameters, choose_guided
from sclcs.selection.registry import Choice, Selector, register

__all__ = ["AUTO"]


def _choose(cohort: Cohort, size: int, seed: int, parameters: GuidingParameters) -> Choice:
    kinds = {find_target(cohort.samples, name).kind for name in parameters.task}
    if "number" not in kinds:
        choice = choose_guided(cohort, size, seed, parameters)
        chosen = GUIDED.name
    else:
        given = {"strata": parameters.strata} if parameters.strata else {}
        choice = STRATIFIED.choose(cohort, size, seed, STRATIFIED.complete(given))
        chosen = STRATIFIED.name
    return Choice(
        choice.rows,
        choice.scores,
        choice.weights,
        facts={**choice.facts, "chosen": chosen, "follows_target": chosen == GUIDED.name},
    )


AUTO = register(
    Selector(
        name="auto",
        summary="guided for labels and fingerprinting, stratified for numbers.",
        reference="ours; docs/guided.md",
        choose=_choose,
        parameters=GuidingParameters,
        version=2,
        needs_labels=True,
        guided=True,
    )
)
