//! What can be done with a stopped node whose log is damaged: look, start anew from the other nodes, or accept the loss.

use crate::groups::kept;
use quorate_model::{Error, GroupId, Result};
use quorate_node::{UnreadableEvents, accept_lost_events as accept_lost_events_of};
use quorate_raft::log::{Log, LogOptions};
use quorate_raft::log_inspect::{self, GroupReport, LogReport};
use quorate_raft::{log_mend, recovery};
use quorate_store::files::RealFiles;
use quorate_store::identity::DataFolder;
use quorate_store::layout::Layout;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What stays in the data folder of a node that starts anew: its format, its lock, and what lets it join.
const KEPT: [&str; 3] = ["FORMAT", "lock", "join-token"];
/// Where the damaged log of a node stays that went on without what it lost.
const DAMAGED_LOG: &str = "raft-damaged";
const MENDED_LOG: &str = "raft-mended";

/// What the log of a data folder holds and where it is damaged. Changes nothing, not even a lock: a node that runs may write
/// meanwhile, and then its end looks cut off.
///
/// Errors: it is no data folder; a file cannot be read.
pub fn inspect(data_dir: &Path) -> Result<LogReport> {
    let layout = Layout::new(data_dir);
    match has_log(data_dir)? {
        true => log_inspect::inspect(&layout.raft()).map_err(failed),
        // a folder without its log
        false if layout.state().exists() => Ok(LogReport::default()),
        false => Err(Error::invalid(format!("{} is no data folder of a node", data_dir.display()))),
    }
}

/// Whether a folder has a log. Errors: whoever asks may not look into it.
pub fn has_log(data_dir: &Path) -> Result<bool> {
    let looked = Layout::new(data_dir).raft().try_exists();
    looked.map_err(|error| Error::invalid(format!("cannot look into {}: {error}", data_dir.display())))
}

/// Whether the log of a node that is in a cluster has nothing, not even damage.
pub fn is_gone(report: &LogReport, data_dir: &Path) -> bool {
    report.damage.is_empty() && report.groups.is_empty() && Layout::new(data_dir).app_id().exists()
}

/// A report for an operator, with what can be done.
pub fn text(report: &LogReport, data_dir: &Path) -> String {
    let mut text = String::new();
    for file in &report.files {
        let _ = writeln!(text, "{}: {} records, {} bytes", file.path.display(), file.records, file.used);
    }
    for (group, it) in &report.groups {
        let entries = match it.entries {
            Some((first, last)) => format!("entries {first} to {last}"),
            None => "no entries".to_owned(),
        };
        let _ = writeln!(
            text,
            "group {group}: {entries}, committed {}, term {}, {} voters, {} learners",
            it.committed,
            it.term,
            it.voters.len(),
            it.learners.len()
        );
    }
    for torn in &report.torn {
        let (file, at) = (torn.path.display(), torn.at);
        let _ = writeln!(text, "{file} ends at {at} in a write that was cut off; nobody was told of it");
    }
    if is_gone(report, data_dir) {
        let _ = writeln!(text, "The log has nothing of any group: it is gone.\n{}", advice(report, data_dir));
    } else if !report.damage.is_empty() {
        let _ = writeln!(text, "DAMAGED:\n{report}\n{}", advice(report, data_dir));
    } else {
        text.push_str(match report.groups.is_empty() {
            true => "The log has nothing of any group: the node is in no cluster yet.\n",
            false => "The log is whole.\n",
        });
    }
    text
}

/// What an operator can do about a damaged log.
pub fn advice(report: &LogReport, data_dir: &Path) -> String {
    let folder = data_dir.display();
    let unsaid = "The log does not say any more which nodes have these groups. If there are others: quorate log start-anew; if \
                  there are none, ";
    match report.groups.values().any(has_others) {
        false if report.groups.is_empty() => format!(
            "{unsaid}put back a copy of {folder}/raft, or go on without what is lost: quorate log accept-loss --data-dir {folder}"
        ),
        true => format!(
            "Other nodes have replicas of these groups. To take this node's place anew from them: quorate log start-anew \
             --data-dir {folder}; see before with quorate cluster status that they are well"
        ),
        false => format!(
            "No other node has these groups. Put back a copy of {folder}/raft, if there is one. To go on without what is lost: \
             quorate log accept-loss --data-dir {folder}"
        ),
    }
}

fn has_others(group: &GroupReport) -> bool {
    !group.learners.is_empty() || group.voters.iter().any(|&voter| Some(voter) != group.member)
}

/// Sets everything aside that a node has, so that its next start joins the others with an empty folder, under a new number:
/// under the old one it might vote twice. Returns where it is; nothing is deleted.
///
/// Errors: the log is neither damaged nor gone; there are groups that only this node has; the folder is in use, or `confirm` is not its
/// application id.
pub fn start_anew(data_dir: &Path, confirm: Option<&str>) -> Result<PathBuf> {
    let report = inspect(data_dir)?;
    // a start makes an empty log where there is none, and then refuses
    let is_gone = report.groups.is_empty() && Layout::new(data_dir).state().exists();
    if report.damage.is_empty() && !is_gone {
        return Err(Error::invalid(
            "the log is whole: nothing was changed. Take a node that is well out with quorate cluster drain",
        ));
    }
    if report.groups.values().any(|group| group.entries.is_some() && !has_others(group)) {
        return Err(Error::invalid(
            "no other node has what is in this folder: nothing was changed. See quorate log accept-loss",
        ));
    }
    let folder = confirmed(data_dir, confirm)?;
    if is_gone && kept::read_state(&folder)?.0.present_nodes().len() <= 1 {
        return Err(Error::invalid(
            "the log is gone, and no other node has what is in this folder: nothing was changed. Put back the folder raft",
        ));
    }
    let root = folder.layout().root();
    let aside = (1..)
        .map(|number| root.join(format!("damaged-{number}")))
        .find(|path| !path.exists())
        .expect("some number is free");
    let io = |error: std::io::Error| Error::internal(format!("cannot set aside {}: {error}", root.display()));
    fs::create_dir(&aside).map_err(io)?;
    // the number first: whatever is left of an attempt that breaks off is never that node again
    let mut names: Vec<_> = fs::read_dir(root)
        .map_err(io)?
        .map(|it| it.map(|it| it.file_name()))
        .collect::<Result<_, _>>()
        .map_err(io)?;
    names.sort_by_key(|name| name != "node-id");
    for name in names {
        let is_kept = name.to_str().is_some_and(|it| KEPT.contains(&it) || it.starts_with("damaged-"));
        if !is_kept {
            fs::rename(root.join(&name), aside.join(&name)).map_err(io)?;
        }
    }
    for path in [&aside, root] {
        fs::File::open(path).and_then(|it| it.sync_all()).map_err(io)?;
    }
    Ok(aside)
}

/// Lets the only node of its groups go on without what the damage of its log has taken. The damaged log stays beside it.
/// Returns what is lost.
///
/// Errors: the log is not damaged; other nodes have these groups; the folder is in use, or `confirm` is not its application id.
pub fn accept_loss(data_dir: &Path, confirm: Option<&str>) -> Result<LogReport> {
    let report = inspect(data_dir)?;
    if report.damage.is_empty() && !data_dir.join(MENDED_LOG).exists() {
        return Err(Error::invalid("the log is whole: nothing was changed"));
    }
    if report.groups.values().any(has_others) {
        return Err(Error::invalid(
            "other nodes have replicas of these groups: nothing was changed. See quorate log start-anew",
        ));
    }
    let folder = confirmed(data_dir, confirm)?;
    let self_id = kept::node_number(&folder);
    let (state, _) = kept::read_state(&folder)?;
    // the log may have lost who they were
    let others = |group: GroupId| state.wanted(group).into_iter().any(|node| node != self_id);
    let reached = kept::read_reached(&folder)?;
    let groups: BTreeSet<GroupId> = report.groups.keys().chain(reached.keys()).copied().collect();
    let is_unsaid = |group: &GroupId| report.groups.get(group).is_none_or(|known| known.voters.is_empty());
    if groups.iter().any(|group| is_unsaid(group) && others(*group)) {
        return Err(Error::invalid(
            "the log does not say any more who has these groups, and other nodes do: nothing was changed. See quorate log start-anew",
        ));
    }
    let layout = folder.layout();
    let (raft, mended, kept) = (layout.raft(), data_dir.join(MENDED_LOG), data_dir.join(DAMAGED_LOG));
    if kept.exists() {
        let message = format!("{} is in the way: move it elsewhere", kept.display());
        return Err(Error::invalid(message));
    }
    let io = |error: std::io::Error| Error::internal(format!("cannot mend the log: {error}"));
    if mended.exists() {
        // of an attempt that broke off
        fs::remove_dir_all(&mended).map_err(io)?;
    }
    log_mend::copy_without_damage(&raft, &mended).map_err(failed)?;
    let log = Log::open(LogOptions::new(&mended)).map_err(failed)?;
    // what the log said of a group may be gone altogether
    let nothing = GroupReport::default();
    for group in groups {
        let known = report.groups.get(&group).unwrap_or(&nothing);
        let state = reached.get(&group).map(|state| (state.from, state.through));
        recovery::accept_loss(&log, (group, known), self_id.0, state).map_err(failed)?;
    }
    drop(log);
    fs::rename(&raft, &kept).map_err(io)?;
    fs::rename(&mended, &raft).map_err(io)?;
    fs::File::open(layout.root()).and_then(|it| it.sync_all()).map_err(io)?;
    Ok(report)
}

/// Lets the only node of its groups go on without files of events that are damaged or gone, which then may be joined by others. Returns
/// what is lost.
///
/// Errors: nothing is lost; other nodes have these groups; the folder is in use, or `confirm` is not its application id.
pub fn accept_lost_events(data_dir: &Path, confirm: Option<&str>) -> Result<Vec<String>> {
    if inspect(data_dir)?.groups.values().any(has_others) {
        return Err(Error::invalid(
            "other nodes have replicas of these groups: nothing was changed. What is lost is fetched from them",
        ));
    }
    let folder = DataFolder::open(data_dir)?;
    let text = |found: UnreadableEvents| match found.rows {
        Some(rows) => format!("{rows} rows: {}", found.error),
        None => format!("rows that nobody has counted: {}", found.error),
    };
    let carry_out = |is_accepted| -> Result<Vec<String>> {
        let found = accept_lost_events_of(RealFiles::shared(), folder.layout(), is_accepted)?;
        Ok(found.into_iter().map(text).collect())
    };
    let lost = carry_out(false)?;
    if lost.is_empty() {
        return Err(Error::invalid("no file of events is lost: nothing was changed"));
    }
    let app_id = folder.app_id()?.unwrap_or_default();
    match confirm == Some(app_id.as_str()) {
        true => carry_out(true),
        false => Err(Error::invalid(format!(
            "lost: {}. Nothing was changed. To go on without that, add --confirm {app_id}",
            lost.join("; ")
        ))),
    }
}

/// Opens a data folder once its application id was named. Errors: it is not the one.
fn confirmed(data_dir: &Path, confirm: Option<&str>) -> Result<DataFolder> {
    let folder = DataFolder::open(data_dir)?;
    let app_id = folder.app_id()?.unwrap_or_default();
    match confirm == Some(app_id.as_str()) {
        true => Ok(folder),
        false => Err(Error::invalid(format!("nothing was changed. To do it, add --confirm {app_id}"))),
    }
}

fn failed(error: quorate_raft::RaftError) -> Error {
    Error::internal(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_gone_is_told_from_that_of_a_node_that_waits_to_join() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path());
        assert!(inspect(folder.path()).is_err(), "no node's folder");
        fs::create_dir(layout.state()).unwrap();
        let report = inspect(folder.path()).unwrap();
        assert!(!is_gone(&report, folder.path()));
        assert!(text(&report, folder.path()).contains("in no cluster yet"));
        fs::write(layout.app_id(), "A\n").unwrap();
        assert!(is_gone(&report, folder.path()));
        assert!(text(&report, folder.path()).contains("it is gone"));
    }
}
