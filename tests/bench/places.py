"""How is a small database of the countries of addresses written? In the MaxMind format, for addresses of version 4."""

METADATA = b"\xab\xcd\xefMaxMind.com"


def text(value):
    """Below 29 bytes, as all are here."""
    return bytes([2 << 5 | len(value)]) + value.encode()


def number(kind, value):
    """Of a kind below 8, or an extended one."""
    octets = value.to_bytes((value.bit_length() + 7) // 8, "big")
    head = bytes([kind << 5 | len(octets)]) if kind < 8 else bytes([len(octets), kind - 7])
    return head + octets


def mapped(members):
    return bytes([7 << 5 | len(members)]) + b"".join(text(name) + value for name, value in members.items())


def database(countries):
    """The bytes of a database: the country of each first octet of an address."""
    data, places = b"", {}
    for country in sorted(set(countries.values())):
        places[country] = len(data)
        data += mapped({"country": mapped({"iso_code": text(country)})})
    nodes = [[None, None]]
    for octet, country in countries.items():
        at = 0
        for bit in range(7, -1, -1):
            side = octet >> bit & 1
            if bit == 0:
                nodes[at][side] = country
            elif nodes[at][side] is None:
                nodes[at][side] = len(nodes)
                nodes.append([None, None])
            at = nodes[at][side]
    count = len(nodes)

    def record(value):
        known = {None: count} if value is None else {value: value} if isinstance(value, int) else {value: count + 16 + places[value]}
        return known[value].to_bytes(3, "big")

    tree = b"".join(record(left) + record(right) for left, right in nodes)
    metadata = mapped({
        "node_count": number(6, count), "record_size": number(5, 24), "ip_version": number(5, 4),
        "database_type": text("Countries"), "languages": bytes([0, 4]), "description": mapped({}),
        "binary_format_major_version": number(5, 2), "binary_format_minor_version": number(5, 0),
        "build_epoch": number(9, 1),
    })
    return tree + bytes(16) + data + METADATA + metadata
