#!/usr/bin/env python3
"""How much of what users did next do related products foretell, beside item-kNN of `implicit`, on a published split?

gowalla.py FOLDER: it has `train.txt.gz` and `test.txt.gz` of LightGCN's split of Gowalla, a line `user item item …`. Builds and runs
the example `gowalla` of `quorate-insights`; with `pip install implicit` measures the better of its cosine and BM25 with 100
neighbours the same way: the sum of the lists of the history, each divided by its sum, the best 20 that are not known.
Prints one line of JSON each; ends with 1 when the models are worse than they have to be.
"""
import gzip
import json
import math
import os
import subprocess
import sys
from pathlib import Path

RECOMMENDED, NEIGHBOURS, BATCH = 20, 100, 1_000
RECALL_MIN, NDCG_MIN, COVERAGE_MIN, TIMES_KNN_MIN = 0.178, 0.145, 0.5, 1.4
ROOT = Path(__file__).resolve().parents[2]


def read(path):
    with gzip.open(path, "rt") as lines:
        rows = ([int(word) for word in line.split()] for line in lines)
        return {row[0]: row[1:] for row in rows if row}


def own(folder):
    command = ["cargo", "run", "-q", "--release", "-p", "quorate-insights", "--example", "gowalla", "--", folder]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def measured(recommended, test):
    """Means over users with something to foretell, of their lists."""
    recall = ndcg = users = 0
    for user, items in recommended.items():
        wanted = set(test.get(user, ()))
        if not wanted:
            continue
        gains = [1 / math.log2(place + 2) for place, item in enumerate(items) if item in wanted]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(len(wanted), RECOMMENDED)))
        recall, ndcg, users = recall + len(gains) / len(wanted), ndcg + sum(gains) / ideal, users + 1
    return {"users": users, "recall": recall / users, "ndcg": ndcg / users}


def knn(model, train, test):
    import numpy
    import scipy.sparse

    pairs = [(user, item) for user, items in train.items() for item in items]
    users, items = (numpy.array(column) for column in zip(*pairs))
    known = scipy.sparse.csr_matrix((numpy.ones(len(pairs), numpy.float32), (users, items)))
    known.data[:] = 1
    model.fit(known, show_progress=False)
    similar = scipy.sparse.csr_matrix(model.similarity).astype(numpy.float32)
    similar.setdiag(0)
    similar.eliminate_zeros()
    sums = numpy.maximum(numpy.asarray(similar.sum(axis=1)).ravel(), 1e-12)
    similar = scipy.sparse.csr_matrix(scipy.sparse.diags(1 / sums) @ similar)
    recommended = {}
    for start in range(0, known.shape[0], BATCH):
        rows = known[start:start + BATCH]
        scores = (rows @ similar).toarray()
        scores[rows.nonzero()] = -1
        best = numpy.argsort(-scores, axis=1, kind="stable")[:, :RECOMMENDED]
        recommended.update({start + row: list(items) for row, items in enumerate(best)})
    return measured(recommended, test)


def main():
    folder = os.path.abspath(sys.argv[1])
    found = own(folder)
    for name in ("related", "popular"):
        print(json.dumps({"model": name, **found[name]}))
    print(json.dumps(found["report"]))
    related = found["related"]
    held = (related["recall"] >= RECALL_MIN and related["ndcg"] >= NDCG_MIN
            and related["coverage"] >= COVERAGE_MIN)
    try:
        from implicit.nearest_neighbours import BM25Recommender, CosineRecommender
    except ImportError:
        print("without `implicit`: nothing beside", file=sys.stderr)
    else:
        train, test = (read(os.path.join(folder, name)) for name in ("train.txt.gz", "test.txt.gz"))
        best = 0
        for model in (CosineRecommender(K=NEIGHBOURS), BM25Recommender(K=NEIGHBOURS)):
            beside = knn(model, train, test)
            print(json.dumps({"model": type(model).__name__, **beside}))
            best = max(best, beside["recall"])
        print(json.dumps({"times_knn": related["recall"] / best}))
        held = held and related["recall"] >= TIMES_KNN_MIN * best
    sys.exit(not held)


if __name__ == "__main__":
    main()
