import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from sclcs.coresets.encoder.model import contrastive_loss

FORMS = ["negatives", "negatives+self", "infonce"]


def brute_force(embeddings, subjects, temperature, denominator):
    """METHOD 5.3 with nothing but loops."""
    unit = [z / np.linalg.norm(z) for z in embeddings]
    terms = []
    for i in range(len(unit)):
        others = [k for k in range(len(unit)) if subjects[k] != subjects[i]]
        for j in range(len(unit)):
            if j == i or subjects[j] != subjects[i]:
                continue
            compared = list(others)
            if denominator == "negatives+self":
                compared.append(i)
            if denominator == "infonce":
                compared.append(j)
            total = sum(np.exp(unit[i] @ unit[k] / temperature) for k in compared)
            terms.append(np.log(total) - unit[i] @ unit[j] / temperature)
    return float(np.mean(terms))


@st.composite
def batches(draw):
    subjects = draw(st.lists(st.integers(0, 3), min_size=3, max_size=9))
    subjects = [0, 0, 1, *subjects]  # at least one pair and one negative
    seed = draw(st.integers(0, 2**16))
    embeddings = np.random.default_rng(seed).normal(size=(len(subjects), 5))
    return embeddings, subjects, draw(st.sampled_from([0.1, 0.5, 1.0]))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(batch=batches())
def test_the_loss_is_the_loop(form, batch):
    embeddings, subjects, temperature = batch
    loss, geometry = contrastive_loss(
        torch.from_numpy(embeddings),
        torch.tensor(subjects),
        temperature=temperature,
        denominator=form,
    )
    expected = brute_force(embeddings, subjects, temperature, form)
    assert float(loss) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    same = np.equal.outer(subjects, subjects)
    assert geometry.n_pairs == same.sum() - len(subjects)


def test_geometry_is_that_of_the_sphere(rng):
    embeddings, subjects = rng.normal(size=(6, 4)), np.array([0, 0, 1, 1, 2, 2])
    _, geometry = contrastive_loss(torch.from_numpy(embeddings), torch.from_numpy(subjects))
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    squared = ((unit[:, None] - unit[None]) ** 2).sum(-1)
    same = subjects[:, None] == subjects[None]
    assert geometry.alignment == pytest.approx(squared[same & ~np.eye(6, dtype=bool)].mean())
    assert geometry.uniformity == pytest.approx(np.log(np.exp(-2 * squared[~same]).mean()))


@settings(max_examples=40)
@given(batch=batches())
def test_the_published_form_is_not_negative_and_adds_the_self_term(batch):
    embeddings, subjects, _ = batch
    z, s = torch.from_numpy(embeddings), torch.tensor(subjects)
    published = float(contrastive_loss(z, s, denominator="negatives+self")[0])
    paper = float(contrastive_loss(z, s)[0])
    assert published >= 0
    assert published >= paper
