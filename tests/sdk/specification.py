"""What does a specification say of each call: parameters, body and answer, as schemas that can be compared?

An `Operation` is read from a document of OpenAPI, or from the models of the official Python package, which are made from
the official specification. Both give JSON Schema; `variants` takes the references and combinations out of it.
"""

import enum
import importlib
import inspect
import re
import types
import typing

VERBS = ("get", "put", "post", "delete")


class Operation:
    """A call: `query` are the parameters by name as (schema, whether required); body and answer are schemas or None."""

    def __init__(self, verb, path, query, body, answer):
        self.verb, self.path, self.query, self.body, self.answer = verb.upper(), path, query, body, answer

    @property
    def name(self):
        return f"{self.verb} {self.path}"


class Specification:
    """Operations, and the named schemas that theirs refer to."""

    def __init__(self, operations, named):
        self.operations = {operation.name: operation for operation in operations}
        self.named = named

    def resolved(self, schema):
        """The schema itself where it is a reference, and the name of it."""
        name = None
        while isinstance(schema, dict) and "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            rest = {key: value for key, value in schema.items() if key not in ("$ref", "description", "default")}
            schema = {**self.named[name], **rest} if rest else self.named[name]
        return schema, name

    def variants(self, schema, seen=()):
        """All schemas without reference or combination of which a value may be one."""
        schema, name = self.resolved(schema)
        if not isinstance(schema, dict):
            return [{}]
        if name in seen:
            return []
        seen = seen + (name,) if name else seen
        own = {key: value for key, value in schema.items() if key not in ("allOf", "oneOf", "anyOf", "description")}
        found = [own]
        for part in schema.get("allOf", []):
            parts = self.variants(part, seen)
            found = [together(one, other) for one in found for other in parts]
        for combination in ("oneOf", "anyOf"):
            if combination in schema:
                parts = [one for part in schema[combination] for one in self.variants(part, seen)]
                found = [together(one, other) for one in found for other in parts]
        return found


def together(one, other):
    """What holds when both do."""
    both = {**one, **other}
    both["properties"] = {**one.get("properties", {}), **other.get("properties", {})}
    both["required"] = [*one.get("required", []), *other.get("required", [])]
    return {key: value for key, value in both.items() if value or key not in ("properties", "required")}


def of_document(document):
    """Reads a document of OpenAPI 3.0 or 3.1."""
    parts = document.get("components", {})
    named = {**parts.get("schemas", {}), **parts.get("parameters", {}), **parts.get("responses", {})}
    specification = Specification([], named)
    operations = []
    for path, verbs in document["paths"].items():
        for verb in VERBS:
            if verb in verbs:
                operations.append(document_operation(specification, verb, path, verbs))
    return Specification(operations, named)


def document_operation(specification, verb, path, verbs):
    described = verbs[verb]
    parameters = [specification.resolved(one)[0] for one in verbs.get("parameters", []) + described.get("parameters", [])]
    query = {
        one["name"]: (one.get("schema", {}), one.get("required", False)) for one in parameters if one["in"] == "query"
    }
    good = [status for status in described["responses"] if str(status).startswith("2")]
    answer = specification.resolved(described["responses"][good[0]])[0] if good else {}
    return Operation(verb, path, query, content(described.get("requestBody", {})), content(answer))


def content(of):
    kinds = of.get("content", {})
    return next((kind.get("schema", {}) for name, kind in kinds.items() if "json" in name), None)


def of_yaml(folder, parts):
    """Reads the official documents of a folder, `search.yml` and so on."""
    import yaml

    class Loader(yaml.SafeLoader):
        """A `=` in a list of operators is a text, not the tag of YAML 1.1."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, test) for tag, test in resolvers if not tag.endswith(":value")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    found = {}
    for part in parts:
        with open(f"{folder}/{part.replace('_', '-')}.yml", encoding="utf-8") as file:
            found[part] = of_document(yaml.load(file, Loader))
    return found


def of_package(parts):
    """Reads the models of the official package for Python."""
    return {part: PackageReader(part).read() for part in parts}


class PackageReader:
    """Turns the classes of one client into schemas, each once by its name."""

    PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", object: None, typing.Any: None}

    def __init__(self, part):
        module = importlib.import_module(f"algoliasearch.{part}.client")
        self.client = getattr(module, part.title().replace("_", "") + "Client")
        self.named = {}

    def read(self):
        operations = []
        for name, call in vars(self.client).items():
            text = inspect.getsource(call) if inspect.isfunction(call) and name.endswith("_with_http_info") else ""
            path = re.search(r'path="([^"]+)"', text)
            if path:
                operations.append(self.operation(text, path[1], call, getattr(self.client, name.removesuffix("_with_http_info"))))
        return Specification(operations, self.named)

    def operation(self, text, path, call, typed):
        hints = typing.get_type_hints(call, include_extras=True)
        schema = lambda name: self.schema(hints[name])
        must = set(re.findall(r"if (\w+) is None:\s+raise", text))
        query = {
            name: (schema(argument), argument in must)
            for name, argument in re.findall(r'_query_parameters\["(\w+)"\] = (\w+)', text)
        }
        body = re.search(r"_data = (\w+)", text)
        answer = typing.get_type_hints(typed).get("return")
        verb = re.search(r"verb=Verb\.(\w+)", text)[1]
        return Operation(verb, path, query, body and schema(body[1]), self.schema(answer))

    def schema(self, hint):
        """The schema of a type as the package writes it."""
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Annotated:
            return {**self.schema(inner[0]), **bounds(inner[1:])}
        if origin in (typing.Union, types.UnionType):
            return self.either(inner)
        if origin in (list, typing.List):
            return {"type": "array", "items": self.schema(inner[0])}
        if origin in (dict, typing.Dict):
            return {"type": "object", "additionalProperties": self.schema(inner[1])}
        if hint in self.PLAIN:
            return {"type": self.PLAIN[hint]} if self.PLAIN[hint] else {}
        if hint is type(None):
            return None
        if hint is dict:
            return {"type": "object"}
        if inspect.isclass(hint):
            return self.class_schema(hint)
        return {}

    def either(self, inner):
        # A body may also be given as a dictionary, and a value of an enumeration as a text: that is of Python alone.
        inner = [one for one in inner if one is not type(None)]
        if len(inner) == 2 and any(is_by_hand(one) for one in inner):
            inner = [one for one in inner if not is_by_hand(one)] or inner
        parts = [self.schema(one) for one in inner]
        if len(parts) == 2 and parts[1] == {"type": "string"} and inner[1] is str and self.has_values(parts[0]):
            parts = parts[:1]
        return parts[0] if len(parts) == 1 else {"oneOf": parts}

    def has_values(self, schema):
        schema = self.named[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
        return "enum" in schema

    def class_schema(self, one):
        name = one.__name__
        if name not in self.named:
            self.named[name] = {}
            self.named[name] = self.described(one)
        return {"$ref": f"#/{name}"}

    def described(self, one):
        if issubclass(one, enum.Enum):
            values = [value.value for value in one]
            return {"type": "integer" if isinstance(values[0], int) else "string", "enum": values}
        fields = one.model_fields
        if "one_of_schemas" in fields or "any_of_schemas" in fields or "actual_instance" in fields:
            choices = [field.annotation for name, field in fields.items() if name.endswith("_validator")]
            return {"oneOf": [self.schema(choice) for choice in choices]}
        members, required = {}, []
        for name, field in fields.items():
            called = field.alias or name
            members[called] = {**self.schema(field.annotation), **bounds(field.metadata)}
            if field.is_required():
                required.append(called)
        return {"type": "object", "properties": members, "required": required}


def is_by_hand(hint):
    """Whether the type is a dictionary of anything, or a list of such."""
    if typing.get_origin(hint) is list:
        return is_by_hand(typing.get_args(hint)[0])
    return typing.get_origin(hint) is dict and typing.get_args(hint)[1] is typing.Any


def bounds(metadata):
    """What the annotations of a field say of its values."""
    found = {}
    for one in metadata:
        one = getattr(one, "metadata", None) or [one]
        for part in one:
            for key, name in (("ge", "minimum"), ("le", "maximum"), ("min_length", "minLength"), ("max_length", "maxLength")):
                if getattr(part, key, None) is not None:
                    found[name] = getattr(part, key)
    return found
