"""In what do two specifications of the same calls differ?"""

BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
KINDS = ("string", "number", "integer", "boolean", "object", "array")


class Comparison:
    """Differences as lines `CALL PLACE: what`, those of `theirs` from `ours`."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs, self.lines = ours, theirs, set()

    def operation(self, one, other):
        """Compares a call of ours with the same one of theirs."""
        self.call = other.name
        self.members("query", {k: v[0] for k, v in one.query.items()}, {k: v[0] for k, v in other.query.items()}, ())
        self.required("query", {k for k, v in one.query.items() if v[1]}, {k for k, v in other.query.items() if v[1]}, set(one.query))
        for place in ("body", "answer"):
            self.values(place, getattr(one, place), getattr(other, place), ())

    def say(self, place, what):
        self.lines.add(f"{self.call} {place}: {what}")

    def values(self, place, one, other, above):
        """Compares what may stand at a place."""
        if one is None or other is None:
            if (one is None) != (other is None):
                self.say(place, "only ours" if other is None else "only theirs")
            return
        pair = (name_of(one), name_of(other))
        if pair in above or len(above) > 12:
            return
        above = above + (pair,) if all(pair) else above
        ours, theirs = self.ours.variants(one), self.theirs.variants(other)
        mine, other_kinds = kinds(ours), kinds(theirs)
        if not other_kinds:
            return
        if not mine:
            self.say(place, f"anything in ours, {' '.join(sorted(other_kinds))} in theirs")
            return
        for kind in sorted(other_kinds - mine):
            self.say(place, f"{kind} only theirs")
        for kind in sorted(mine - other_kinds):
            self.say(place, f"{kind} only ours")
        self.limits(place, ours, theirs)
        self.inside(place, ours, theirs, above)

    def limits(self, place, ours, theirs):
        """Compares enumerations and bounds."""
        for kind in ("string", "number"):
            mine, other = enumeration(ours, kind), enumeration(theirs, kind)
            if mine is not None and other is not None:
                for value in sorted(other - mine):
                    self.say(place, f"value {value} only theirs")
                for value in sorted(mine - other):
                    self.say(place, f"value {value} only ours")
            elif mine is not None and has_kind(theirs, kind):
                self.say(place, f"ours has values: {' '.join(sorted(map(str, mine)))}")
            elif other is not None and has_kind(ours, kind):
                self.say(place, f"theirs has values: {' '.join(sorted(map(str, other)))}")
        for bound in BOUNDS:
            mine, other = the_bound(ours, bound), the_bound(theirs, bound)
            if mine != other:
                self.say(place, f"{bound} {text(mine)} in ours, {text(other)} in theirs")

    def inside(self, place, ours, theirs, above):
        """Compares items and members."""
        mine, other = of_kind(ours, "array"), of_kind(theirs, "array")
        if mine and other:
            self.values(place + "[]", joined(mine, "items"), joined(other, "items"), above)
        mine, other = of_kind(ours, "object"), of_kind(theirs, "object")
        if not (mine and other):
            return
        members = properties(mine)
        if not members and properties(other):
            self.say(place, "members are named only in theirs")
            return
        self.members(place, members, properties(other), above)
        self.required(place, required(mine), required(other), set(members))
        is_map = lambda one: bool(one.get("additionalProperties")) and one["additionalProperties"] is not True
        maps = [[one for one in some if is_map(one)] for some in (mine, other)]
        if all(maps):
            self.values(place + ".*", *(joined(some, "additionalProperties") for some in maps), above)

    def members(self, place, ours, theirs, above):
        for name in sorted(ours.keys() | theirs.keys()):
            if name not in ours:
                self.say(f"{place}.{name}", "only theirs")
            elif name not in theirs:
                self.say(f"{place}.{name}", "only ours")
            else:
                self.values(f"{place}.{name}", ours[name], theirs[name], above)

    def required(self, place, ours, theirs, known):
        for name in sorted((theirs - ours) & known):
            self.say(f"{place}.{name}", "required only in theirs")
        for name in sorted(ours - theirs):
            self.say(f"{place}.{name}", "required only in ours")


def name_of(schema):
    return schema.get("$ref") or (id(schema) if schema else None)


def types_of(variant):
    """The kinds of value that a variant has; a whole number is a number, and null is left aside."""
    stated = variant.get("type")
    if stated is None:
        for key, kind in (("properties", "object"), ("additionalProperties", "object"), ("items", "array")):
            if key in variant:
                stated = kind
        if stated is None and "enum" in variant:
            stated = ["string" if isinstance(one, str) else "integer" for one in variant["enum"]]
        if stated is None and "const" in variant:
            stated = "string" if isinstance(variant["const"], str) else "integer"
    return {stated} if isinstance(stated, str) else set(stated or [])


def kinds(variants):
    """The kinds of all variants; empty when one of them is anything."""
    found = set()
    for variant in variants:
        types = types_of(variant) - {"null"}
        if not types and "null" not in types_of(variant):
            return set()
        found |= types
    return found - ({"integer"} if "number" in found else set())


def has_kind(variants, kind):
    return bool(of_kind(variants, kind))


def of_kind(variants, kind):
    same = {kind, "integer"} if kind == "number" else {kind}
    return [one for one in variants if types_of(one) & same]


def enumeration(variants, kind):
    """The values when all variants of the kind have theirs listed."""
    some = of_kind(variants, kind)
    if not some or not all("enum" in one or "const" in one for one in some):
        return None
    right = str if kind == "string" else (int, float)
    return {
        value
        for one in some
        for value in [*one.get("enum", []), *([one["const"]] if "const" in one else [])]
        if isinstance(value, right) and not isinstance(value, bool)
    }


def the_bound(variants, bound):
    """The widest bound of the variants that are of its kind."""
    kind = "array" if "Items" in bound else "string" if "Length" in bound else "number"
    some = [one.get(bound) for one in of_kind(variants, kind) if "enum" not in one and "const" not in one]
    if not some or None in some:
        return None
    return (min if bound.startswith("min") else max)(some)


def text(bound):
    return "none" if bound is None else f"{bound:g}" if isinstance(bound, float) else str(bound)


def joined(variants, key):
    """A schema of what any of the variants has there."""
    some = [one.get(key, {}) for one in variants]
    return some[0] if len(some) == 1 else {"oneOf": some}


def properties(variants):
    """The members of all variants; what several have is any of theirs."""
    found = {}
    for one in variants:
        for name, schema in one.get("properties", {}).items():
            found.setdefault(name, []).append(schema)
    return {name: some[0] if all(one == some[0] for one in some) else {"oneOf": some} for name, some in found.items()}


def required(variants):
    """The members that all variants require."""
    sets = [set(one.get("required", [])) for one in variants]
    return set.intersection(*sets) if sets else set()
