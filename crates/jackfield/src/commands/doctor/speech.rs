//! Whether speech is understood: which engines are here, and how to get one.
//!
//! An engine is loaded for it, in a process of its own, and hears nothing. The one rule it keeps: an engine that nobody
//! has asked for is no problem when it is missing.

use std::time::Duration;

use jackfield_speech::engine;
use jackfield_speech::{Engine, Speech, Wanted};
use tokio::time::timeout;

use super::report::Check;
use crate::commands::speech::{surroundings, tried, wanted};
use crate::config::Config;
use crate::failure::Failure;

const NAME: &str = "speech";

/// Looks at every engine.
pub(super) async fn check(config: &Config, limit: Duration) -> Result<Vec<Check>, Failure> {
    let Some(wanted) = wanted(config)? else {
        let mend = "set the option `speech.engine`, as a rule to `auto`";
        return Ok(vec![Check::remark(NAME, "off", "dictation is switched off", mend)]);
    };
    let language = &config.speech.language;
    let chosen = engine::find(&wanted, language);
    let mut checks = Vec::new();
    match &chosen {
        Ok(setup) => {
            let recognisers = Speech::new(
                Wanted { engine: Some(setup.engine), ..wanted.clone() },
                language.clone(),
                surroundings()?,
            );
            let says = format!("{} is here, with the model in {}", setup.engine, setup.model.display());
            checks.push(match timeout(limit, tried(&recognisers)).await {
                Ok(Ok(())) => Check::ok(NAME, "works", format!("{says}; it works, and sound stays here")),
                Ok(Err(error)) => {
                    let mend = match setup.engine {
                        Engine::Moonshine => "run `jackfield speech setup --again`",
                        Engine::SherpaOnnx => "look at `speech.library` and `speech.model`",
                    };
                    Check::problem(NAME, "broken", format!("{says}, but: {error}"), mend)
                }
                Err(_) => {
                    let says = format!("{says}, but it did not load within {} s", limit.as_secs());
                    Check::problem(NAME, "slow", says, "try again with a longer `--timeout`")
                }
            });
        }
        Err(error) => {
            let (says, mend) = halves(&error.to_string());
            checks.push(Check::problem(NAME, "unavailable", says, mend));
        }
    }
    for engine in Engine::ALL.into_iter().filter(|engine| *engine != wanted.chosen()) {
        let (code, found) = ("other_engine", engine::look(engine, &wanted, language));
        checks.push(match found {
            Ok(_) => Check::ok(NAME, code, format!("{engine} is here too; `speech.engine` chooses it")),
            Err(error) => {
                let (says, mend) = halves(&error.to_string());
                Check::remark(NAME, code, says, mend)
            }
        });
    }
    Ok(checks)
}

/// What is wrong, and what to do, of a sentence with both.
fn halves(sentence: &str) -> (String, String) {
    let (says, mend) = sentence.rsplit_once(": ").unwrap_or((sentence, "see docs/dictation.md"));
    (says.to_owned(), mend.to_owned())
}
