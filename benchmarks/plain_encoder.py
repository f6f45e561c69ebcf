"""The encoder's work written straight from the formulas, for the benchmark to compare with.

Heads in a Python loop, the loss anchor by anchor, after each epoch a full pass whose maps
are all kept, the score computed from the kept maps at the end.
"""

from __future__ import annotations

import itertools
import math

import torch
from torch import nn


class PlainEncoder(nn.Module):
    def __init__(self, n_timepoints: int, heads: int, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(n_timepoints)
        self.queries = nn.ModuleList(
            [nn.Linear(n_timepoints, dim, bias=False) for _ in range(heads)]
        )
        self.keys = nn.ModuleList([nn.Linear(n_timepoints, dim, bias=False) for _ in range(heads)])
        self.fusion = nn.Parameter(torch.zeros(heads))
        self.value = nn.Linear(n_timepoints, dim)
        self.output = nn.Linear(dim, dim)
        self.dim = dim

    def forward(self, signals):
        tokens = self.norm(signals)
        maps = []
        for query, key in zip(self.queries, self.keys, strict=True):
            scores = torch.bmm(query(tokens), key(tokens).transpose(1, 2)) / math.sqrt(self.dim)
            maps.append(torch.softmax(scores, dim=-1))
        weights = torch.softmax(self.fusion, dim=0)
        fused = torch.einsum("bhnm,h->bnm", torch.stack(maps, dim=1), weights)
        return self.output(torch.bmm(fused, self.value(tokens))).mean(dim=1), fused


def plain_loss(embeddings, subjects, temperature=0.1):
    directions = nn.functional.normalize(embeddings, dim=1)
    scores = directions @ directions.t() / temperature
    terms = []
    for anchor in range(len(scores)):
        same = subjects == subjects[anchor]
        negatives = scores[anchor][~same]
        same[anchor] = False
        positives = scores[anchor][same]
        terms.append(torch.logsumexp(negatives, 0) - positives.mean())
    return torch.stack(terms).mean()


class PlainTraining:
    def __init__(self, signals, pairs, heads: int, dim: int, batch_subjects: int = 64) -> None:
        self.signals, self.pairs, self.batch_subjects = signals, pairs, batch_subjects
        self.model = PlainEncoder(signals.shape[2], heads, dim)
        self.optimiser = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.epoch = 0
        self.kept = [self.full_pass()]

    def full_pass(self):
        with torch.no_grad():
            blocks = self.signals.split(128)
            return torch.cat([self.model(block)[1] for block in blocks])

    def train_epoch(self) -> None:
        self.epoch += 1
        for rows, subjects in self.pairs.batches(self.batch_subjects, 0, self.epoch):
            embeddings, _ = self.model(self.signals[torch.from_numpy(rows)])
            loss = plain_loss(embeddings, torch.from_numpy(subjects))
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        self.kept.append(self.full_pass())

    def scores(self):
        found = []
        for sample in range(len(self.signals)):
            maps = [epoch_maps[sample] for epoch_maps in self.kept]
            steps = [((b - a) ** 2).sum() for a, b in itertools.pairwise(maps)]
            found.append(torch.stack(steps).mean())
        return torch.stack(found)
