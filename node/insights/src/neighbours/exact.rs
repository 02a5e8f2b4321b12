//! How are roots and logarithms computed so that every machine gets the same bits?
//!
//! The standard library's `powf` and `ln` may differ between platforms. What stands here adds, multiplies, divides and takes square
//! roots only, which IEEE 754 defines to the last bit.

/// `length^-alpha` for alpha = ¼, ½, ¾ and 1.
pub(super) fn falling(length: u32) -> [f32; 4] {
    let half = f64::from(length.max(1)).sqrt();
    let quarter = half.sqrt();
    [quarter, half, half * quarter, half * half].map(|root| (1.0 / root) as f32)
}

/// `count^-beta` for beta = 0.2, 0.4 and 0.6.
pub(super) fn penalties(count: u32) -> [f32; 3] {
    let root = fifth_root(f64::from(count.max(1)));
    [root, root * root, root * root * root].map(|power| (1.0 / power) as f32)
}

/// The fifth root of a number of at least 1.
fn fifth_root(x: f64) -> f64 {
    // a fifth of the exponent is near enough to begin with; each step doubles the digits
    let one = 1.0f64.to_bits();
    let mut root = f64::from_bits(one + (x.to_bits() - one) / 5);
    for _ in 0..6 {
        let fourth = root * root * root * root;
        root -= (root * fourth - x) / (5.0 * fourth);
    }
    root
}

/// The natural logarithm of a positive normal number.
pub(super) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut fraction = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if fraction > std::f64::consts::SQRT_2 {
        fraction /= 2.0;
        exponent += 1;
    }
    // ln m = 2 artanh((m - 1) / (m + 1)); beyond the eleventh term nothing is left of 53 bits
    let t = (fraction - 1.0) / (fraction + 1.0);
    let square = t * t;
    let mut sum = 0.0;
    for odd in (1..=21).rev().step_by(2) {
        sum = sum * square + 1.0 / f64::from(odd);
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * t * sum
}

/// Dunning's G² of two things that come together `common` times, where by chance it were `expected` times: twice the logarithm of how
/// much likelier the one is than the other.
///
/// Returns 0 when they come together as seldom as by chance, or more seldom: what avoids each other is no pair.
pub(super) fn beyond_chance(common: u32, expected: f64) -> f64 {
    let common = f64::from(common);
    if common <= expected { 0.0 } else { 2.0 * (common * ln(common / expected) - common + expected) }
}

/// Spreads the bits of a number (the finish of SplitMix64), so that what is taken by it is taken as if by chance.
pub(super) fn spread(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_logarithms_are_those_of_the_library() {
        for x in (1..5_000).chain([65_536, 1_000_000, 12_345_678, u32::MAX]) {
            let exact = f64::from(x);
            let near = |found: f64, wanted: f64| (found - wanted).abs() <= 4e-15 * wanted.abs().max(1.0);
            assert!(near(fifth_root(exact), exact.powf(0.2)), "fifth root of {x}");
            assert!(near(ln(exact), exact.ln()), "logarithm of {x}");
            assert!(near(ln(1.0 / exact), -exact.ln()), "logarithm of 1/{x}");
            for (found, alpha) in falling(x).into_iter().zip([0.25, 0.5, 0.75, 1.0]) {
                assert!((f64::from(found) * exact.powf(alpha) - 1.0).abs() < 1e-6, "{x}^-{alpha}");
            }
            for (found, beta) in penalties(x).into_iter().zip([0.2, 0.4, 0.6]) {
                assert!((f64::from(found) * exact.powf(beta) - 1.0).abs() < 1e-6, "{x}^-{beta}");
            }
        }
    }
    #[test]
    fn chance_is_told_from_what_goes_together() {
        let check = |common: u32, expected: f64, wanted: f64| {
            let found = beyond_chance(common, expected);
            assert!((found - wanted).abs() < 1e-3, "{common}, {expected}: {found}, not {wanted}");
        };
        // as often as by chance, and more seldom
        check(25, 25.0, 0.0);
        check(1, 25.0, 0.0);
        // by hand: 2 (2 ln 50 - 2 + 0.04), 2 (2 ln 1.25 - 2 + 1.6), 2 (100 ln 2 - 50)
        check(2, 0.04, 11.7281);
        check(2, 1.6, 0.0926);
        check(100, 50.0, 38.6294);
    }
}
