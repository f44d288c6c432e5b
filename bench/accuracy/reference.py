"""Rows of one head, their attention in float64, and how far from it other attention is."""

from dataclasses import dataclass

import numpy


@dataclass
class Head:
    """Some rows of a head. Row i sees the keys 0 to last[i]."""

    q: numpy.ndarray  # (rows, dim)
    k: numpy.ndarray  # (keys, dim)
    v: numpy.ndarray
    last: numpy.ndarray
    scale: float


def hide(scores, head):
    return numpy.where(numpy.arange(len(head.k)) <= head.last[:, None], scores, -numpy.inf)


def weights(head):
    """In float64, without the division by their sum."""
    scores = hide(head.q.astype(numpy.float64) @ head.k.T.astype(numpy.float64) * head.scale, head)
    return numpy.exp(scores - scores.max(1, keepdims=True))


def exact(head):
    p = weights(head)
    return p @ head.v.astype(numpy.float64) / p.sum(1, keepdims=True)


def errors(got, wanted):
    """Cosine of the angle between all outputs and those wanted, and the rms error over the rms of those wanted."""
    got, wanted = got.astype(numpy.float64).ravel(), wanted.ravel()
    squares = wanted @ wanted
    return got @ wanted / numpy.sqrt(got @ got * squares), numpy.sqrt(numpy.square(got - wanted).sum() / squares)
