//! Which users are to be forgotten by what else keeps traces of them on this node?

use std::collections::BTreeSet;

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
    /// These, a thousand at most.
    These(BTreeSet<String>),
    /// More than are named.
    TooMany,
}

impl Default for ForgottenUsers {
    /// Nobody.
    fn default() -> Self {
        ForgottenUsers::These(BTreeSet::new())
    }
}

impl ForgottenUsers {
    /// Adds one.
    pub(crate) fn insert(&mut self, token: &str) {
        if let ForgottenUsers::These(tokens) = self
            && !tokens.contains(token)
        {
            tokens.insert(token.to_owned());
            if tokens.len() > USERS_MAX {
                *self = ForgottenUsers::TooMany;
            }
        }
    }
    /// Adds others.
    pub fn add(&mut self, others: ForgottenUsers) {
        match others {
            ForgottenUsers::These(tokens) => tokens.iter().for_each(|token| self.insert(token)),
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
            (0..USERS_MAX).for_each(|number| users.insert(&number.to_string()));
            assert!(matches!(&users, ForgottenUsers::These(tokens) if tokens.len() == USERS_MAX), "{round}");
        }
        let mut others = ForgottenUsers::default();
        others.insert("ann");
        users.add(others.clone());
        assert_eq!(users, ForgottenUsers::TooMany);
        others.add(users);
        assert_eq!(others, ForgottenUsers::TooMany);
    }
}
