//! Approvals by a person: the client asks, and the person's decision is executed.
//!
//! From revision 2026-07-28 of the protocol on, the call is answered with the question, and the
//! client repeats it with the decision. Before, the client is questioned while the call waits.
//!
//! The decision of the person is bound to the proposal that the person was shown, by the digest of
//! the hand-off: if the offer has changed since, the approval is refused.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult, ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use crate::tools::Approval;

/// The name of the question in an answer.
const QUESTION: &str = "approval";
/// How long a person may think while a call waits.
const PATIENCE: Duration = Duration::from_mins(10);

/// The outcome of asking.
pub(crate) enum Elicited {
    /// The client cannot ask a person.
    Unsupported,
    /// The client must ask and repeat the call.
    Ask(Box<InputRequiredResult>),
    /// Whether it is approved, why, and the digest of what was shown.
    Decided { is_approved: bool, reason: Option<String>, digest: String },
    /// The person has not decided.
    Undecided,
}

/// Asks a person, if the client can.
pub(crate) async fn ask(
    approval: &Approval,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Elicited, ErrorData> {
    let capabilities = context.client_capabilities().unwrap_or_default();
    if capabilities.elicitation.is_none() {
        return Ok(Elicited::Unsupported);
    }
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: approval.message.clone(),
        requested_schema: form(),
    };
    let newest = ProtocolVersion::V_2026_07_28;
    if context.protocol_version().is_some_and(|version| version.as_str() >= newest.as_str()) {
        let responses = request.input_responses.as_ref();
        let Some(response) = responses.and_then(|responses| responses.get(QUESTION)) else {
            let question = InputRequest::Elicitation(ElicitRequest::new(params));
            let questions = [(QUESTION.to_owned(), question)].into();
            let result = InputRequiredResult::new(Some(questions), Some(approval.digest.clone()));
            return Ok(Elicited::Ask(Box::new(result)));
        };
        let invalid = |error: serde_json::Error| ErrorData::invalid_params(error.to_string(), None);
        let result: ElicitResult = serde_json::from_value(response.clone()).map_err(invalid)?;
        let digest = request.request_state.clone().unwrap_or_default();
        return Ok(decided(&result, digest));
    }
    let asked = context.peer.create_elicitation_with_timeout(params, Some(PATIENCE)).await;
    match asked {
        Ok(result) => Ok(decided(&result, approval.digest.clone())),
        // A client that cannot ask after all, or has gone.
        Err(_) => Ok(Elicited::Undecided),
    }
}

fn form() -> ElicitationSchema {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "approve": {"type": "boolean", "title": "Approve", "default": false},
            "reason": {"type": "string", "title": "Reason", "maxLength": 500},
        },
        "required": ["approve"],
    });
    serde_json::from_value(schema).expect("a test reads the form")
}

fn decided(result: &ElicitResult, digest: String) -> Elicited {
    let content = result.content.as_ref();
    let reason = content.and_then(|content| content["reason"].as_str()).map(str::to_owned);
    let approve = content.and_then(|content| content["approve"].as_bool());
    match (&result.action, approve) {
        (ElicitationAction::Accept, Some(is_approved)) => {
            Elicited::Decided { is_approved, reason, digest }
        }
        (ElicitationAction::Decline, _) => Elicited::Decided { is_approved: false, reason, digest },
        // A form without an answer decides nothing.
        _ => Elicited::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_one_that_clients_can_show() {
        let form = serde_json::to_value(form()).unwrap();
        assert_eq!(form["properties"]["approve"]["type"], "boolean");
    }

    #[test]
    fn only_an_answer_decides() {
        let outcome = |action: ElicitationAction, content: serde_json::Value| {
            let result = ElicitResult::new(action).with_content(content);
            match decided(&result, String::new()) {
                Elicited::Decided { is_approved, .. } => Some(is_approved),
                _ => None,
            }
        };
        let json = |text: &str| serde_json::from_str(text).unwrap();
        for (text, expected) in [
            (r#"{"approve":true}"#, Some(true)),
            (r#"{"approve":false}"#, Some(false)),
            (r#"{"approve":"yes"}"#, None),
            (r#"{"decision":"approve"}"#, None),
            ("{}", None),
        ] {
            assert_eq!(outcome(ElicitationAction::Accept, json(text)), expected, "{text}");
        }
        assert_eq!(outcome(ElicitationAction::Decline, json("{}")), Some(false));
        assert_eq!(outcome(ElicitationAction::Cancel, json("{}")), None);
    }
}
