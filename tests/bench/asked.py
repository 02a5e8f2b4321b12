"""The queries of the load driver, as calls of the interface."""
import gzip
import itertools
import json
import os

from beside import TOOLS


def as_asked(line):
    """A query of the load driver as the interface takes it."""
    asked = {"query": line["q"], "hitsPerPage": 20, "analytics": False}
    if "ff" in line:
        asked["facetFilters"] = [["%s:%s" % (attribute, value) for value in values] for attribute, values in line["ff"]]
    if "nf" in line:
        asked["numericFilters"] = ["%s%s%s" % tuple(comparison) for comparison in line["nf"]]
    if "facets" in line:
        asked["facets"] = line["facets"]
    if "geo" in line:
        lat, lng, radius = line["geo"]
        asked.update(aroundLatLng="%s,%s" % (lat, lng), aroundRadius=int(radius))
    return asked


def queries(name, query_class, most):
    """The first of a class for a data set; none where it has no such class."""
    path = os.path.join(TOOLS, "queries", "%s.%s.jsonl.gz" % (name, query_class))
    if not os.path.exists(path):
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [as_asked(json.loads(line)) for line in itertools.islice(lines, most)]
