//! What a disk that refuses single calls does: a file layer that fails chosen calls, once or for a while. For tests.
//!
//! The sibling of [`crate::recorder`]: that one says what a power cut leaves, this one what a process has to live with.

use crate::files::{FileWriter, Files};
use std::io::{self, Write};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No space is left (ENOSPC): refused where bytes or names are added, as removing and reading need none.
    Full,
    /// The device fails (EIO), before anything has happened.
    Device,
    /// The device fails, after everything has happened: the caller cannot know.
    DeviceAfter,
    /// The process has too many files open (EMFILE): refused where one is opened.
    Handles,
    /// Half of the bytes are written and said to be; what follows finds the disk full.
    Short,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Fault; 5] =
        [Fault::Full, Fault::Device, Fault::DeviceAfter, Fault::Handles, Fault::Short];

    fn concerns(self, call: Call) -> bool {
        match self {
            Fault::Full => matches!(call, Call::Create | Call::Write | Call::Name | Call::Sync),
            Fault::Device | Fault::DeviceAfter => true,
            Fault::Handles => matches!(call, Call::Create | Call::Open),
            Fault::Short => matches!(call, Call::Write | Call::Create),
        }
    }
}

/// What a call does, as far as faults differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens a file and adds a name or bytes.
    Create,
    /// Adds bytes.
    Write,
    /// Adds or changes a name.
    Name,
    /// Makes durable what was written.
    Sync,
    /// Opens an existing file or folder.
    Open,
    /// Asks for what is there.
    Look,
    /// Takes away names or bytes.
    Remove,
}

impl Call {
    const KINDS: usize = 7;
    const ALL: [Call; Call::KINDS] =
        [Call::Create, Call::Write, Call::Name, Call::Sync, Call::Open, Call::Look, Call::Remove];
}

/// Which calls fail. File layers that share one are on the same disk; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    calls: AtomicU64,
    by_kind: [AtomicU64; Call::KINDS],
    failed: AtomicU64,
    plan: Mutex<Option<Plan>>,
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    from: u64,
    end: u64,
    fault: Fault,
    counted: Counted,
}

/// Which calls the numbers of a plan count.
#[derive(Clone, Copy, Debug)]
enum Counted {
    Every,
    /// Those that the fault concerns.
    Concerned,
}

impl Faults {
    /// Lets `count` calls fail, the first of them after `after` further ones. Calls that the fault does not concern count and
    /// succeed.
    pub fn fail(&self, after: u64, count: u64, fault: Fault) {
        let from = self.calls() + after;
        let end = from.saturating_add(count);
        *self.shared.plan() = Some(Plan { from, end, fault, counted: Counted::Every });
    }
    /// Lets `count` of the calls that the fault concerns fail, after `after` others of these: it meets one as soon as there are
    /// so many, whatever else is called before.
    pub fn fail_concerned(&self, after: u64, count: u64, fault: Fault) {
        let mut plan = self.shared.plan();
        let from = self.shared.concerned(fault) + after;
        let end = from.saturating_add(count);
        *plan = Some(Plan { from, end, fault, counted: Counted::Concerned });
    }
    /// Calls so far that a fault concerns.
    pub fn concerned(&self, fault: Fault) -> u64 {
        self.shared.concerned(fault)
    }
    /// Lets every call succeed from now on.
    pub fn heal(&self) {
        *self.shared.plan() = None;
    }
    /// Calls so far.
    pub fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::SeqCst)
    }
    /// Calls that failed so far.
    pub fn failed(&self) -> u64 {
        self.shared.failed.load(Ordering::SeqCst)
    }
    /// Carries a call out, unless it is to fail.
    pub fn run<T>(&self, call: Call, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.shared.next(call) {
            None => act(),
            Some(Fault::DeviceAfter) => act().and(Err(error(Fault::Device))),
            Some(fault) => Err(error(fault)),
        }
    }
    /// The same of one that writes bytes, of which it may be given a half.
    pub fn write(&self, bytes: &[u8], act: impl FnOnce(&[u8]) -> io::Result<usize>) -> io::Result<usize> {
        match self.shared.next(Call::Write) {
            None => act(bytes),
            Some(Fault::Short) if bytes.len() > 1 => act(&bytes[..bytes.len() / 2]),
            Some(Fault::DeviceAfter) => act(bytes).and(Err(error(Fault::Device))),
            Some(fault) => Err(error(fault)),
        }
    }
}

/// Another file layer, some of whose calls fail. Clones share the plan.
#[derive(Clone, Debug)]
pub struct FailingFiles {
    inner: Arc<dyn Files>,
    faults: Faults,
}

impl FailingFiles {
    /// A layer that fails nothing yet.
    pub fn new(inner: Arc<dyn Files>) -> FailingFiles {
        FailingFiles { inner, faults: Faults::default() }
    }
    fn opened(&self, file: io::Result<Box<dyn FileWriter>>) -> io::Result<Box<dyn FileWriter>> {
        Ok(Box::new(FailingFile { inner: file?, faults: self.faults.clone() }))
    }
}

impl Deref for FailingFiles {
    type Target = Faults;

    fn deref(&self) -> &Faults {
        &self.faults
    }
}

impl Shared {
    fn plan(&self) -> MutexGuard<'_, Option<Plan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn concerned(&self, fault: Fault) -> u64 {
        let kinds = Call::ALL.into_iter().filter(|call| fault.concerns(*call));
        kinds.map(|call| self.by_kind[call as usize].load(Ordering::SeqCst)).sum()
    }
    /// Counts a call; says how it fails, if it does.
    fn next(&self, call: Call) -> Option<Fault> {
        // under the lock: no two calls are the same one
        let plan = self.plan();
        let of_all = self.calls.fetch_add(1, Ordering::SeqCst);
        let concerned = plan.map(|plan| self.concerned(plan.fault));
        self.by_kind[call as usize].fetch_add(1, Ordering::SeqCst);
        let plan = (*plan).filter(|plan| plan.fault.concerns(call))?;
        let number = match plan.counted {
            Counted::Every => of_all,
            Counted::Concerned => concerned?,
        };
        (plan.from..plan.end).contains(&number).then(|| {
            self.failed.fetch_add(1, Ordering::SeqCst);
            plan.fault
        })
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Full | Fault::Short => {
            io::Error::new(io::ErrorKind::StorageFull, "no space left on device (by a test)")
        }
        Fault::Device | Fault::DeviceAfter => io::Error::other("input/output error (by a test)"),
        Fault::Handles => io::Error::other("too many open files (by a test)"),
    }
}

struct FailingFile {
    inner: Box<dyn FileWriter>,
    faults: Faults,
}
impl Write for FailingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.faults.write(bytes, |bytes| self.inner.write(bytes))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
impl FileWriter for FailingFile {
    fn sync(&mut self) -> io::Result<()> {
        self.faults.run(Call::Sync, || self.inner.sync())
    }
}

impl Files for FailingFiles {
    fn create(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.opened(self.run(Call::Create, || self.inner.create(path)))
    }
    fn create_private(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.opened(self.run(Call::Create, || self.inner.create_private(path)))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn FileWriter>> {
        self.opened(self.run(Call::Open, || self.inner.append(path)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Call::Name, || self.inner.rename(from, to))
    }
    fn hard_link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.run(Call::Name, || self.inner.hard_link(from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Remove, || self.inner.remove(path))
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Name, || self.inner.create_dir_all(path))
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Remove, || self.inner.remove_dir_all(path))
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Sync, || self.inner.sync_dir(path))
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Sync, || self.inner.sync_file(path))
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.run(Call::Look, || self.inner.exists(path))
    }
    fn before_read(&self, path: &Path) -> io::Result<()> {
        self.run(Call::Open, || self.inner.before_read(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::RealFiles;

    #[test]
    fn each_fault_fails_what_it_concerns_and_nothing_later() {
        for fault in Fault::ALL {
            let dir = tempfile::tempdir().unwrap();
            let files = FailingFiles::new(RealFiles::shared());
            let path = dir.path().join("a");
            files.write_atomic(&path, b"before").unwrap();
            let calls = files.calls();
            files.write_atomic(&path, b"longer before").unwrap();
            let calls = files.calls() - calls;
            for at in 0..calls {
                files.write_atomic(&path, b"before").unwrap();
                files.fail(at, 1, fault);
                let outcome = files.write_atomic(&path, b"behind");
                files.heal();
                let found = std::fs::read(&path).unwrap();
                assert!(found == b"before" || found == b"behind", "{fault:?} at {at}");
                assert!(outcome.is_err() || found == b"behind", "{fault:?} at {at}");
            }
            assert!(files.failed() > 0, "{fault:?}");
            files.write_atomic(&path, b"healed").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"healed");
        }
    }
}
