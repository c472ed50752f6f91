//! Whether the host understands speech.

use axum::Json;
use axum::extract::State;
use jackfield_api::speech::SpeechState;

use crate::router::Server;

/// Whether a dictation would be understood, as things are now.
#[utoipa::path(
    get, path = "/api/speech", tag = "speech",
    responses((status = 200, description = "Which engine, or how to get one", body = ref("#/components/schemas/SpeechState")))
)]
pub(crate) async fn speech(State(server): State<Server>) -> Json<SpeechState> {
    Json(server.speech.state())
}
