//! Which users are to be forgotten by what else keeps traces of them on this node?

use std::collections::BTreeMap;

/// Users that are named at most: who meets more forgets everybody.
const USERS_MAX: usize = 1_000;

/// Who keeps traces of users beside their events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgets {
    /// Searches that are not counted yet.
    Searches,
    /// The log of requests.
    Requests,
}

impl Forgets {
    /// All of them, each at the place of its number.
    pub(crate) const ALL: [Forgets; 2] = [Forgets::Searches, Forgets::Requests];
}

/// User tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForgottenUsers {
    /// These, a thousand at most, and when this node was told last (Unix milliseconds by its clock).
    These(BTreeMap<String, u64>),
    /// More than are named.
    TooMany,
}

impl Default for ForgottenUsers {
    /// Nobody.
    fn default() -> Self {
        ForgottenUsers::These(BTreeMap::new())
    }
}

impl ForgottenUsers {
    /// Adds one.
    pub(crate) fn insert(&mut self, token: &str, told_ms: u64) {
        let ForgottenUsers::These(tokens) = self else { return };
        if let Some(told) = tokens.get_mut(token) {
            *told = told_ms.max(*told);
        } else if tokens.len() < USERS_MAX {
            tokens.insert(token.to_owned(), told_ms);
        } else {
            *self = ForgottenUsers::TooMany;
        }
    }
    /// Adds others.
    pub fn add(&mut self, others: ForgottenUsers) {
        match others {
            ForgottenUsers::These(tokens) => {
                tokens.iter().for_each(|(token, told_ms)| self.insert(token, *told_ms));
            }
            ForgottenUsers::TooMany => *self = ForgottenUsers::TooMany,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_are_named_and_more_are_everybody() {
        let mut users = ForgottenUsers::default();
        for round in 0..2 {
            (0..USERS_MAX).for_each(|number| users.insert(&number.to_string(), round));
            assert!(
                matches!(&users, ForgottenUsers::These(tokens) if tokens.len() == USERS_MAX && tokens["7"] == round),
                "{round}"
            );
        }
        let mut others = ForgottenUsers::default();
        others.insert("ann", 5);
        users.add(others.clone());
        assert_eq!(users, ForgottenUsers::TooMany);
        others.add(users);
        assert_eq!(others, ForgottenUsers::TooMany);
    }
}
