//! Fixtures that ask the client before they answer, from revision 2026-07-28 on: the call is
//! answered with questions, and repeated with the responses.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, InputRequest, InputRequests,
    InputRequiredResult, InputResponses,
};
use serde_json::{Value, json};

/// Seals the state that a client returns. The suite changes it, and must be refused.
const KEY: &[u8] = b"the key of a server that only tests";

/// The questions of a fixture in one round.
struct Round {
    questions: &'static [&'static str],
    has_state: bool,
}

const fn round(questions: &'static [&'static str], has_state: bool) -> Round {
    Round { questions, has_state }
}

fn rounds(fixture: &str) -> Option<&'static [Round]> {
    Some(match fixture {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            const { &[round(&["user_name"], false)] }
        }
        "test_input_required_result_sampling" => const { &[round(&["capital_question"], false)] },
        "test_input_required_result_list_roots" => const { &[round(&["client_roots"], false)] },
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => const { &[round(&["confirm"], true)] },
        "test_input_required_result_multiple_inputs" => {
            const { &[round(&["user_name", "greeting", "client_roots"], true)] }
        }
        "test_input_required_result_multi_round" => {
            const { &[round(&["step1"], true), round(&["step2"], true)] }
        }
        "test_input_required_result_capabilities" => {
            const { &[round(&["user_name", "greeting", "client_roots"], false)] }
        }
        "test_input_required_result_prompt" => const { &[round(&["user_context"], false)] },
        _ => return None,
    })
}

fn elicitation(message: &str, member: &str, kind: &str) -> Value {
    let schema = json!({"type": "object", "properties": {member: {"type": kind}},
                        "required": [member]});
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    json!({"method": "elicitation/create", "params": params})
}

fn sampling(text: &str, tokens: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"method": "sampling/createMessage",
           "params": {"messages": [message], "maxTokens": tokens}})
}

fn question(name: &str) -> InputRequest {
    let request = match name {
        "capital_question" => sampling("What is the capital of France?", 100),
        "greeting" => sampling("Generate a greeting", 50),
        "client_roots" => json!({"method": "roots/list", "params": {}}),
        "confirm" => elicitation("Please confirm", "ok", "boolean"),
        "step1" => elicitation("Step 1: What is your name?", "name", "string"),
        "step2" => elicitation("Step 2: What is your favorite color?", "color", "string"),
        "user_context" => elicitation("What context should the prompt use?", "context", "string"),
        _ => elicitation("What is your name?", "name", "string"),
    };
    serde_json::from_value(request).expect("it is a request of the protocol")
}

/// Whether a client that declared these capabilities can be asked.
fn can_ask(request: &InputRequest, capabilities: &ClientCapabilities) -> bool {
    match request {
        InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
        InputRequest::Elicitation(_) => capabilities.elicitation.is_some(),
        _ => capabilities.roots.is_some(),
    }
}

/// Whether a response answers its question.
fn is_response(request: &InputRequest, response: &Value) -> bool {
    match request {
        InputRequest::CreateMessage(_) => response["content"].is_object(),
        InputRequest::Elicitation(_) => {
            response["action"].is_string()
                && (response["action"] != "accept" || response["content"].is_object())
        }
        _ => response["roots"].is_array(),
    }
}

fn seal(state: &str) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, KEY), state.as_bytes());
    format!("{state}.{}", URL_SAFE_NO_PAD.encode(tag))
}

fn open(sealed: &str) -> Option<&str> {
    let (state, tag) = sealed.rsplit_once('.')?;
    let tag = URL_SAFE_NO_PAD.decode(tag).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, KEY);
    hmac::verify(&key, state.as_bytes(), &tag).ok().map(|()| state)
}

/// The outcome of a call: further questions, or the responses to all.
pub(crate) enum Outcome {
    Ask(InputRequiredResult),
    Answered(String),
}

/// Asks the questions, or returns the responses of the client as text; none if the fixture asks
/// nothing.
pub(crate) fn outcome(
    fixture: &str,
    responses: Option<&InputResponses>,
    state: Option<&str>,
    capabilities: &ClientCapabilities,
) -> Option<Result<Outcome, ErrorData>> {
    let rounds = rounds(fixture)?;
    let mut step = 0;
    if let Some(sealed) = state {
        let opened = open(sealed).and_then(|state| state.strip_prefix(fixture)?.parse().ok());
        let Some(opened) = opened else {
            return Some(Err(ErrorData::invalid_params("requestState was changed", None)));
        };
        step = opened;
    }
    let none = InputResponses::new();
    let responses = responses.unwrap_or(&none);
    let asked = |step: usize| -> InputRequests {
        let round: Option<&Round> = rounds.get(step);
        let names = round.map_or(&[][..], |round| round.questions).iter();
        let all = names.map(|name| ((*name).to_owned(), question(name)));
        // The fixture that tests this omits questions that the client does not support.
        all.filter(|(_, request)| {
            !fixture.ends_with("capabilities") || can_ask(request, capabilities)
        })
        .collect()
    };
    let questions = asked(step);
    let is_answered = questions.iter().all(|(name, request)| {
        responses.get(name).is_some_and(|response| is_response(request, response))
    });
    step += usize::from(is_answered);
    if step >= rounds.len() {
        return Some(Ok(Outcome::Answered(rendered(state.is_some(), &questions, responses))));
    }
    let state = rounds[step].has_state.then(|| seal(&format!("{fixture}{step}")));
    Some(Ok(Outcome::Ask(InputRequiredResult::new(Some(asked(step)), state))))
}

fn rendered(has_state: bool, questions: &InputRequests, responses: &InputResponses) -> String {
    let rendered: Vec<String> = questions
        .keys()
        .map(|name| match (&responses[name], name.as_str()) {
            (response, "user_name" | "step1") => {
                format!("Hello, {}!", response["content"]["name"].as_str().unwrap_or_default())
            }
            (response, _) => format!("{name}: {response}"),
        })
        .collect();
    let state = if has_state { "state-ok " } else { "" };
    format!("{state}{}", rendered.join("; "))
}

/// The answer of a tool.
pub(crate) fn result(text: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
