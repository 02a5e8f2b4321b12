//! A shop with planted bundles among best sellers: is what belongs together told from what only sells well?

use super::*;

const BUNDLES: u32 = 150;
const BEST_SELLERS: u32 = 20;
const TAIL: u32 = 2_000;
const BASKETS: u64 = 30_000;

/// The items of a bundle come first, then best sellers, then the tail.
fn bundle(number: u32) -> [u32; 3] {
    [0, 1, 2].map(|part| number * 3 + part)
}

/// Baskets of one to a dozen items that sell by chance, most of them a best seller; one of eight has a bundle, not always whole.
fn purchases(seed: u64) -> Vec<Event> {
    let mut chance = Chance(seed << 32);
    let mut events = Vec::new();
    for basket in 0..BASKETS {
        let user = spread(basket % 12_000);
        // the baskets of one user are days apart
        let second = (basket / 12_000) as u32 * 3 * 86_400 + chance.below(3_600) as u32;
        let mut buy = |item: u32| events.push(Event { user, item, kind: Kind::Purchase, second });
        while {
            let is_best_seller = chance.unit() < 0.6;
            // the first of the best sellers sells twenty times as often as the last
            let place = 21f64.powf(chance.unit()) as u32;
            buy(BUNDLES * 3
                + if is_best_seller { place - 1 } else { BEST_SELLERS + chance.below(TAIL.into()) as u32 });
            chance.unit() < 0.6
        } {}
        if chance.unit() < 0.125 {
            let items = bundle(chance.below(BUNDLES.into()) as u32);
            items.into_iter().filter(|_| chance.unit() < 0.8).for_each(&mut buy);
        }
    }
    events
}

#[test]
fn bundles_are_found_and_best_sellers_are_none() {
    for seed in 1..=3 {
        let lists = lists(&bytes(&purchases(seed), Build::Together));
        let (mut planted, mut found) = (0, 0);
        for [one, two, three] in (0..BUNDLES).map(bundle) {
            for (item, partners) in [(one, [two, three]), (two, [one, three]), (three, [one, two])] {
                let first: Vec<&str> =
                    lists[&name(item)].iter().take(3).map(|(other, _)| &other[..]).collect();
                planted += 2;
                found += partners.iter().filter(|partner| first.contains(&name(**partner).as_str())).count();
            }
        }
        let best_sellers: Vec<String> = (0..BEST_SELLERS).map(|place| name(BUNDLES * 3 + place)).collect();
        let is_best_seller = |other: &(String, u16)| best_sellers.contains(&other.0);
        let by_chance: usize = best_sellers
            .iter()
            .map(|item| lists[item].iter().filter(|other| is_best_seller(other)).count())
            .sum();
        let pairs = BEST_SELLERS * (BEST_SELLERS - 1);
        let (found, by_chance) = (found as f64 / f64::from(planted), by_chance as f64 / f64::from(pairs));
        println!(
            "seed {seed}: {found:.4} of the partners are among the first three, {by_chance:.4} of the best sellers are pairs"
        );
        assert!(found >= 0.95, "seed {seed}: {found} of the partners");
        assert!(by_chance <= 0.02, "seed {seed}: {by_chance} of the pairs of best sellers");
    }
}
