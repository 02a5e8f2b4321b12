//! How are amounts of money kept exactly?

use serde::{Deserialize, Serialize};
use std::fmt;

/// Characters of an amount at most (C§18.2).
pub const AMOUNT_CHARS_MAX: usize = 16;
/// Decimal places that amounts are brought to when they are added: as many as 16 characters can have.
pub const PLACES: u32 = 15;

/// A decimal amount as it was given, without zeros at its end. The currency stands beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Money {
    /// The digits, as one number.
    digits: i64,
    /// How many of them stand behind the point.
    places: u8,
}

impl Money {
    /// Reads digits with at most one point, and a sign; `None` for anything else, or more than [`AMOUNT_CHARS_MAX`] characters.
    pub fn parse(text: &str) -> Option<Money> {
        if text.len() > AMOUNT_CHARS_MAX {
            return None;
        }
        let (sign, unsigned) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = [whole, fraction].concat();
        let digits: i64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
        Some(Money { digits: sign * digits, places: fraction.len() as u8 })
    }
    /// The amount in units of 10^-[`PLACES`]. It has at most 31 digits.
    pub fn scaled(self) -> i128 {
        i128::from(self.digits) * 10_i128.pow(PLACES - u32::from(self.places))
    }
    /// The amount that so many units of 10^-[`PLACES`] are; `None` if no [`Money`] gives it.
    pub fn from_scaled(scaled: i128) -> Option<Money> {
        let (mut digits, mut places) = (scaled, PLACES);
        while places > 0 && digits % 10 == 0 {
            (digits, places) = (digits / 10, places - 1);
        }
        Some(Money { digits: i64::try_from(digits).ok()?, places: places as u8 })
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, digits) = (if self.digits < 0 { "-" } else { "" }, self.digits.unsigned_abs());
        let unit = 10_u64.pow(u32::from(self.places));
        match self.places {
            0 => write!(f, "{sign}{digits}"),
            places => write!(f, "{sign}{}.{:0places$}", digits / unit, digits % unit, places = places.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_exact() {
        for (given, text) in [
            ("0", "0"),
            ("-0", "0"),
            ("12", "12"),
            ("12.50", "12.5"),
            (".5", "0.5"),
            ("5.", "5"),
            ("-3.07", "-3.07"),
            ("0.10", "0.1"),
            ("9999999999999999", "9999999999999999"),
            (".999999999999999", "0.999999999999999"),
            ("-.00000000000001", "-0.00000000000001"),
        ] {
            let money = Money::parse(given).unwrap_or_else(|| panic!("{given}"));
            assert_eq!(money.to_string(), text);
            assert_eq!(Money::from_scaled(money.scaled()), Some(money), "{given}");
        }
        for given in ["", ".", "-", "-.", "1e3", "1,5", "NaN", "+1", "1.2.3", " 1", "12345678901234567", "١"]
        {
            assert_eq!(Money::parse(given), None, "{given}");
        }
        assert_eq!(Money::from_scaled(i128::MAX), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_again(digits in any::<i32>(), places in 0..10_u32) {
            let scaled = i128::from(digits) * 10_i128.pow(PLACES - places);
            let money = Money::from_scaled(scaled).expect("few digits");
            prop_assert_eq!(money.scaled(), scaled);
            prop_assert_eq!(Money::parse(&money.to_string()), Some(money));
        }
    }
}
