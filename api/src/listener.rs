//! Which kind of work does an address take, and what does it say to the others (C§1.4)?
//!
//! A node may listen on further addresses that are kept to reads, to writes or to operators, so that a balancer or a
//! firewall can tell them apart. The address that takes everything is always there: clients use one set of fallback
//! hosts for reads and writes.

use crate::routes::{Route, Work};
use quorate_model::{Error, Result};
use std::net::SocketAddr;

/// What a listener is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Everything.
    Everything,
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// What operators ask.
    Operate,
}

/// The addresses of a node.
#[derive(Clone, Debug, Default)]
pub struct Listeners {
    everything: Option<SocketAddr>,
    split: Vec<(Listener, SocketAddr)>,
}

impl Listeners {
    /// `everything` is where all work is taken, `split` where one kind is.
    pub fn new(everything: SocketAddr, split: Vec<(Listener, SocketAddr)>) -> Self {
        Listeners { everything: Some(everything), split }
    }
    /// Where a kind of work is taken, for people.
    fn places(&self, listener: Listener) -> String {
        let of_kind = self.split.iter().filter(|(kind, _)| *kind == listener);
        let mut places: Vec<String> =
            of_kind.map(|(_, at)| format!("{at} (--{})", listener.option())).collect();
        let option = Listener::Everything.option();
        places.extend(self.everything.map(|at| format!("{at} (--{option})")));
        places.join(" and ")
    }
}

impl Listener {
    /// The option that gives its address.
    pub fn option(self) -> &'static str {
        match self {
            Listener::Everything => "listen",
            Listener::Read => "read-listen",
            Listener::Write => "write-listen",
            Listener::Operate => "admin-listen",
        }
    }
    fn takes(self, work: Work) -> bool {
        match (self, work) {
            (Listener::Everything, _) | (_, Work::Watch) => true,
            (Listener::Read, work) => matches!(work, Work::Read | Work::Either),
            (Listener::Write, work) => matches!(work, Work::Write | Work::Either),
            (Listener::Operate, work) => work == Work::Operate,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Listener::Everything => "everything",
            Listener::Read => "reads",
            Listener::Write => "writes",
            Listener::Operate => "the calls of operators",
        }
    }
    /// Errors: `Forbidden` for work of another listener, naming where it is taken, unless that is for operators only. Clients do
    /// not try it again.
    pub fn check<H>(self, route: &Route<H>, listeners: &Listeners) -> Result<()> {
        if self.takes(route.work) {
            return Ok(());
        }
        let right = match route.work {
            Work::Read | Work::Either | Work::Watch => Listener::Read,
            Work::Write => Listener::Write,
            Work::Operate => Listener::Operate,
        };
        if right == Listener::Operate {
            return Err(Error::forbidden(format!("This address takes {} only", self.name())));
        }
        Err(Error::forbidden(format!(
            "This address takes {} only; {} {} belongs to {}, which {} take",
            self.name(),
            route.verb.as_str(),
            route.path,
            right.name(),
            listeners.places(right),
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Verb;
    use crate::table::ROUTER;

    #[test]
    fn each_listener_takes_its_kind_of_work() {
        use Listener::{Everything, Operate, Read, Write};
        let cases: [(Verb, &str, &[Listener]); 14] = [
            (Verb::Post, "/1/indexes/i/query", &[Read]),
            (Verb::Post, "/1/indexes/*/queries", &[Read]),
            (Verb::Post, "/1/indexes/*/objects", &[Read]),
            (Verb::Post, "/1/indexes/i/rules/search", &[Read]),
            (Verb::Get, "/1/indexes/i/settings", &[Read]),
            (Verb::Get, "/1/keys", &[Read]),
            (Verb::Put, "/1/indexes/i/settings", &[Write]),
            (Verb::Post, "/1/indexes/i/batch", &[Write]),
            (Verb::Delete, "/1/indexes/i", &[Write]),
            (Verb::Get, "/1/indexes/i/task/1", &[Read, Write]),
            (Verb::Get, "/readyz", &[Read, Write, Operate]),
            (Verb::Get, "/1/isalive", &[Read, Write, Operate]),
            (Verb::Get, "/metrics", &[Operate]),
            (Verb::Post, "/admin/nodes/n1/drain", &[Operate]),
        ];
        for (verb, path, takers) in cases {
            let route = ROUTER.find(Some(verb), path).map(|found| found.route).expect(path);
            for listener in [Read, Write, Operate] {
                let taken = listener.check(route, &Listeners::default());
                assert_eq!(taken.is_ok(), takers.contains(&listener), "{path} {listener:?}");
            }
            assert!(Everything.check(route, &Listeners::default()).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_refusal_does_not_name_the_address_of_operators() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let listeners = Listeners::new(at(1), vec![(Listener::Read, at(2)), (Listener::Operate, at(7_777))]);
        let route = ROUTER.find(Some(Verb::Get), "/admin/cluster").map(|found| found.route).expect("a route");
        let refused = Listener::Read.check(route, &listeners).expect_err("operators have another address");
        assert_eq!(refused.message, "This address takes reads only");
    }

    #[test]
    fn a_refusal_names_the_right_address() {
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let listeners = Listeners::new(at(1), vec![(Listener::Read, at(2)), (Listener::Write, at(3))]);
        let route =
            ROUTER.find(Some(Verb::Post), "/1/indexes/i/batch").map(|found| found.route).expect("a route");
        let refused = Listener::Read.check(route, &listeners).expect_err("a write on the read address");
        assert_eq!(
            refused.message,
            "This address takes reads only; POST /1/indexes/{indexName}/batch belongs to writes, which \
             127.0.0.1:3 (--write-listen) and 127.0.0.1:1 (--listen) take"
        );
    }
}
