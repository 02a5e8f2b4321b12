//! What does a command of the meta group need of the nodes?

use super::{MetaCommand, Subject};
use quorate_model::level::{self, Needs};

impl MetaCommand {
    /// The lowest level of programs that know the command and all that it holds, and what needs that.
    pub(super) fn needs(&self) -> Needs {
        match self {
            MetaCommand::PutKey { key } | MetaCommand::CreateKey { key } | MetaCommand::UpdateKey { key } => {
                Needs::level(self.row().level).or(level::of_key(key))
            }
            MetaCommand::Announced { subject: Subject::Dictionaries(_), .. } => {
                Needs::level(level::DICTIONARIES_ACT)
            }
            command => Needs::level(command.row().level),
        }
    }
}
