#!/usr/bin/env python3
"""Writes catalogue.jsonl: the stock of an invented outdoor shop with branches in real cities.

Everything but the names and coordinates of the cities is made up; the seed makes every run give the same file.
Usage: make_catalogue.py > catalogue.jsonl
"""

import json
import random

RECORDS = 640
SEED = 20

BRANDS = ["Alder", "Brackwater", "Cairnway", "Dunlin", "Eastlight", "Fellside", "Gorse & Co", "Heron",
          "Isobar", "Juniper", "Kestrelworks", "Lowmark"]
COLORS = ["black", "blue", "green", "grey", "orange", "red", "sand", "white", "yellow"]
CITIES = [("Amsterdam", 52.3728, 4.8936), ("Athens", 37.9838, 23.7275), ("Berlin", 52.52, 13.405),
          ("Bergen", 60.393, 5.3242), ("Dublin", 53.3498, -6.2603), ("Grenoble", 45.1885, 5.7245),
          ("Innsbruck", 47.2692, 11.4041), ("Lisbon", 38.7223, -9.1393), ("Ljubljana", 46.0569, 14.5058),
          ("Lyon", 45.764, 4.8357), ("Montreal", 45.5019, -73.5674), ("Nagano", 36.6486, 138.1948),
          ("Porto", 41.1579, -8.6291), ("Salta", -24.7821, -65.4232), ("Tallinn", 59.437, 24.7536),
          ("Wellington", -41.2865, 174.7762)]
ADJECTIVES = ["Light", "Sturdy", "Compact", "Classic", "Alpine", "Coastal", "Trail", "Summit", "Harbour", "Winter",
              "Summer", "Evening", "Pocket", "Expedition", "Weekend", "Storm"]

# category, product kind, nouns, price range, materials, one sentence
KINDS = [
    ("Camping", "Tents", ["tent", "tunnel tent", "dome tent", "tarp"], (79, 690), ["ripstop nylon", "polyester", "cotton blend"],
     "Pitches in a few minutes and stands firm in a gale."),
    ("Camping", "Sleeping bags", ["sleeping bag", "quilt", "bag liner"], (25, 420), ["down", "recycled fibre", "silk"],
     "Keeps you warm through a clear night and packs small."),
    ("Camping", "Lamps", ["lantern", "headlamp", "table lamp", "string of lights"], (12, 120), ["aluminium", "recycled plastic", "brass"],
     "Gives even light for a long evening on one charge."),
    ("Camping", "Stoves", ["gas stove", "wood stove", "spirit burner", "kettle"], (19, 230), ["titanium", "steel", "aluminium"],
     "Brings a litre to the boil even when it is windy."),
    ("Hiking", "Backpacks", ["backpack", "daypack", "hip bag", "duffel"], (29, 310), ["ripstop nylon", "waxed canvas", "recycled fibre"],
     "Sits close to the back and carries weight on the hips."),
    ("Hiking", "Boots", ["hiking boots", "approach shoes", "trail shoes", "gaiters"], (35, 290), ["full-grain leather", "suede", "mesh"],
     "Grips on wet rock and needs no breaking in."),
    ("Hiking", "Poles", ["trekking poles", "walking stick", "folding poles"], (18, 160), ["carbon", "aluminium", "ash wood"],
     "Takes the load off the knees on long descents."),
    ("Hiking", "Navigation", ["compass", "map case", "altimeter", "whistle"], (6, 190), ["brass", "recycled plastic", "aluminium"],
     "Shows the way when the path has gone."),
    ("Cycling", "Bags", ["handlebar bag", "pannier", "saddle bag", "frame bag"], (24, 180), ["waxed canvas", "ripstop nylon", "leather"],
     "Clicks on in a second and stays quiet on gravel."),
    ("Cycling", "Lights", ["front light", "rear light", "light set"], (14, 140), ["aluminium", "recycled plastic"],
     "Seen from far away, easy on the eyes of others."),
    ("Cycling", "Tools", ["multitool", "hand pump", "tyre levers", "repair kit"], (5, 75), ["steel", "aluminium", "recycled plastic"],
     "Everything for a repair at the side of the road."),
    ("Water", "Boats", ["kayak", "canoe", "packraft", "paddle"], (65, 1890), ["polyethylene", "carbon", "ash wood"],
     "Runs straight and turns when asked to."),
    ("Water", "Dry bags", ["dry bag", "dry sack", "waterproof case"], (8, 110), ["polyester", "recycled plastic"],
     "Keeps what is inside dry, whatever happens outside."),
    ("Clothing", "Jackets", ["rain jacket", "down jacket", "fleece", "windbreaker"], (45, 480), ["recycled fibre", "merino", "down"],
     "Made for weather that changes its mind."),
    ("Clothing", "Hats", ["wool hat", "sun hat", "cap", "neck warmer"], (9, 65), ["merino", "cotton", "recycled fibre"],
     "Warm ears in winter, a cool head in summer."),
    ("Kitchen", "Mugs and flasks", ["flask", "camping mug", "coffee press", "water bottle"], (7, 70), ["steel", "enamel", "titanium"],
     "Hot drinks stay hot, cold ones cold."),
]


def price(rng, low, high):
    """Mostly cheap, some dear, ending as prices do."""
    whole = low + (high - low) * rng.random() ** 2
    return round(int(whole) + rng.choice([0.0, 0.5, 0.9, 0.95]), 2)


def record(rng, number, taken):
    category, kind, nouns, (low, high), materials, sentence = rng.choice(KINDS)
    while True:
        brand, adjective, noun = rng.choice(BRANDS), rng.choice(ADJECTIVES), rng.choice(nouns)
        name = f"{brand} {adjective} {noun}"
        if name not in taken:
            break
    taken.add(name)
    material = rng.choice(materials)
    colors = sorted(rng.sample(COLORS, rng.randint(1, 3)))
    city, lat, lng = rng.choice(CITIES)
    stock = max(0, int(rng.gauss(12, 10)))
    tags = sorted(t for t, share in [("new", .15), ("sale", .2), ("repairable", .4), ("vegan", .3), ("gift", .1)]
                  if rng.random() < share)
    return {
        "objectID": f"item-{number:04d}",
        "name": name,
        "description": f"{adjective} {noun} of {material}. {sentence} In {', '.join(colors)}.",
        "brand": brand,
        "categories": [category, kind],
        "hierarchy": {"lvl0": category, "lvl1": f"{category} > {kind}"},
        "material": material,
        "color": colors,
        "price": price(rng, low, high),
        "rating": round(min(5.0, max(1.0, rng.gauss(4.1, 0.6))), 1),
        "popularity": int(1000 * rng.random() ** 3),
        "in_stock": stock > 0,
        "stock": stock,
        "weight_g": int(rng.uniform(40, 3200)),
        "added_on": rng.randint(1_672_531_200, 1_735_689_600),
        "branch": city,
        "_geoloc": {"lat": lat, "lng": lng},
        "_tags": tags,
    }


def main():
    rng = random.Random(SEED)
    taken = set()
    for number in range(1, RECORDS + 1):
        print(json.dumps(record(rng, number, taken), ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
