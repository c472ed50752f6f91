//! Questions to a person, from the card to the verdict.
//!
//! Each is a task of its own; when it is dropped, because somebody else has answered or nobody wants to know any more,
//! the card is taken back. The one rule it keeps: an editor that cannot ask has not said yes.

use std::collections::BTreeMap;

use jackfield_api::command::Verdict;
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_api::trust::FolderTrust;

use crate::capabilities::Offered;
use crate::permission::{Choices, Meaning, Words, no, refuse};
use crate::question;
use crate::rpc::Peer;
use crate::schema::{
    CLIENT_METHOD_NAMES, CreateElicitationRequest, CreateElicitationResponse, Error, ErrorCode,
    RequestPermissionRequest, RequestPermissionResponse, SessionId,
};
use crate::translate;
use crate::trust::{self, Said};

/// Asks, and tells what the answer means; `None` if this editor cannot ask it.
pub(super) async fn ask(
    peer: Peer,
    session: SessionId,
    offered: Offered,
    folder: String,
    mut request: PermissionRequest,
) -> Option<Verdict> {
    request.tool_title = translate::title(&request.tool_title, request.normalized.as_ref(), &folder);
    match request.kind {
        PermissionKind::Tool | PermissionKind::Plan => {
            let words = if offered.forms { Words::Possible } else { Words::Impossible };
            Some(permission(&peer, &session, &request, words).await)
        }
        PermissionKind::Question if offered.forms => {
            let response = elicit(&peer, &question::form(&session, &request)).await;
            Some(response.map_or_else(refused, |response| question::read_form(&request, response)))
        }
        PermissionKind::Question => {
            let mut answers = BTreeMap::new();
            for one in &request.questions {
                let asked = question::one(&session, &request, one);
                let Ok(response) = choose(&peer, &asked).await else { break };
                // A card that was put away ends the asking.
                let Some(answer) = question::read_one(one, &response) else { break };
                answers.insert(one.question.clone(), answer);
            }
            Some(question::answers(answers))
        }
        PermissionKind::Elicitation if offered.forms => {
            let form = question::elicitation(&session, &request)?;
            let response = elicit(&peer, &form).await;
            Some(response.map_or_else(refused, question::read_elicitation))
        }
        PermissionKind::Elicitation | PermissionKind::Dialog => None,
    }
}

/// Asks whether a folder is trusted.
pub(super) async fn ask_trust(peer: Peer, session: SessionId, card: String, folder: FolderTrust) -> Said {
    let response = choose(&peer, &trust::ask(&session, &card, &folder)).await;
    response.map_or(Said::NotNow, |response| trust::read(&folder, &response))
}

async fn permission(peer: &Peer, session: &SessionId, request: &PermissionRequest, words: Words) -> Verdict {
    let choices = Choices::of(request, words);
    let response = match choose(peer, &choices.ask(session, request)).await {
        Ok(response) => response,
        Err(error) => return refused(error),
    };
    match choices.read(&response) {
        Meaning::Answer(verdict) => verdict,
        Meaning::SayWhy => {
            let why = elicit(peer, &question::why(session, request)).await.ok().and_then(question::read_why);
            why.map_or_else(no, |why| refuse(&why))
        }
    }
}

async fn choose(peer: &Peer, asked: &RequestPermissionRequest) -> Result<RequestPermissionResponse, Error> {
    peer.ask(CLIENT_METHOD_NAMES.session_request_permission, asked).answer().await
}

async fn elicit(peer: &Peer, form: &CreateElicitationRequest) -> Result<CreateElicitationResponse, Error> {
    peer.ask(CLIENT_METHOD_NAMES.elicitation_create, form).answer().await
}

/// The editor could not ask.
// By value, as `map_or_else` hands it over.
#[allow(clippy::needless_pass_by_value)]
fn refused(error: Error) -> Verdict {
    if error.code == ErrorCode::RequestCancelled {
        return no();
    }
    refuse(&format!("the editor could not ask the user: {}", error.message))
}
