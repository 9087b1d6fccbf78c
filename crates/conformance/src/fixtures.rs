//! The handler of the product with the fixtures of the suite before it.
#![expect(deprecated, reason = "the suite tests what the newest revision has deprecated")]

use std::sync::{Arc, Mutex, PoisonError};

use baton_mcp::Mcp;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    GetTaskParams, GetTaskResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, PaginatedRequestParams, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Role, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::broadcast::Sender;

use crate::input::Outcome;
use crate::tools::argument;
use crate::{content, input, legacy, tools};

/// A list for which a tool announces a change.
#[derive(Clone, Copy)]
pub(crate) enum Change {
    Tools,
    Prompts,
}

#[derive(Clone)]
pub(crate) struct Fixtures {
    product: Mcp,
    changes: Sender<Change>,
    /// The lowest log level that a client of an earlier revision requests.
    least: Arc<Mutex<LoggingLevel>>,
}

type Context = RequestContext<RoleServer>;

impl Fixtures {
    pub(crate) fn new(product: Mcp, changes: &Sender<Change>) -> Self {
        let least = Arc::new(Mutex::new(LoggingLevel::Debug));
        Self { product, changes: changes.clone(), least }
    }

    async fn fixture(
        &self,
        request: &CallToolRequestParams,
        context: &Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let name: &str = &request.name;
        let arguments = request.arguments.clone().unwrap_or_default();
        let capabilities = context.client_capabilities().unwrap_or_default();
        let (responses, state) =
            (request.input_responses.as_ref(), request.request_state.as_deref());
        if let Some(outcome) = input::outcome(name, responses, state, &capabilities) {
            return Ok(match outcome? {
                Outcome::Ask(questions) => questions.into(),
                Outcome::Answered(text) => input::result(text).into(),
            });
        }
        if let Some(form) = legacy::form(name) {
            let message = argument(&arguments, "message");
            let message = if message.is_empty() { "Please fill in" } else { message };
            return Ok(legacy::elicit(context, message, form).await.into());
        }
        let result = match name {
            "test_tool_with_logging" | "test_logging_tool" => {
                let least = *self.least.lock().unwrap_or_else(PoisonError::into_inner);
                legacy::log(context, least).await
            }
            "test_tool_with_progress" => tools::progress(context).await,
            "test_sampling" => legacy::sample(context, argument(&arguments, "prompt")).await,
            "test_missing_capability" => tools::needs_sampling(&capabilities)?,
            "test_trigger_tool_change" | "test_trigger_prompt_change" => {
                let is_tool = name == "test_trigger_tool_change";
                let change = if is_tool { Change::Tools } else { Change::Prompts };
                // There may be no listener.
                drop(self.changes.send(change));
                input::result("done".to_owned())
            }
            _ => tools::fixed(name).expect("every listed tool is handled"),
        };
        Ok(result.into())
    }
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let mut config = self.product.get_info();
        let further = json!({"tools": {"listChanged": true}, "prompts": {"listChanged": true},
                             "logging": {}, "completions": {}});
        let mut capabilities = json!(config.capabilities);
        for (name, capability) in further.as_object().into_iter().flatten() {
            capabilities[name] = capability.clone();
        }
        config.capabilities = serde_json::from_value(capabilities).expect("they are capabilities");
        config
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = self.product.list_tools(request, context).await?;
        list.tools.extend(tools::tools());
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let fixture = tools::tools().into_iter().find(|tool| tool.name == name);
        fixture.or_else(|| self.product.get_tool(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        if tools::tools().iter().any(|tool| tool.name == request.name) {
            return self.fixture(&request, &context).await;
        }
        self.product.call_tool(request, context).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut list = self.product.list_resources(request, context).await?;
        list.resources.extend(content::resources());
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = self.product.list_resource_templates(request, context).await?;
        list.resource_templates.extend(content::templates());
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match content::resource(&request.uri) {
            Some(contents) => {
                let result = ReadResourceResult::new(vec![contents]).with_ttl_ms(0);
                Ok(result.with_cache_scope(rmcp::model::CacheScope::Private).into())
            }
            None => self.product.read_resource(request, context).await,
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        if content::resource(&request.uri).is_some() {
            return Ok(());
        }
        self.product.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.product.unsubscribe(request, context).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = self.product.list_prompts(request, context).await?;
        list.prompts.extend(content::prompts());
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        let (responses, state) =
            (request.input_responses.as_ref(), request.request_state.as_deref());
        if let Some(outcome) = input::outcome(&request.name, responses, state, &capabilities) {
            return Ok(match outcome? {
                Outcome::Ask(questions) => questions.into(),
                Outcome::Answered(text) => {
                    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into()
                }
            });
        }
        let arguments = request.arguments.clone().unwrap_or_default();
        match content::prompt(&request.name, &arguments) {
            Some(prompt) => Ok(prompt.into()),
            None => self.product.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let values = vec!["paris".to_owned(), "park".to_owned()];
        let invalid = |error| ErrorData::internal_error(error, None);
        Ok(CompleteResult::new(CompletionInfo::new(values).map_err(invalid)?))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: Context,
    ) -> Result<(), ErrorData> {
        *self.least.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = self.product.accepted_subscription_filter(requested)?;
        accepted.tools_list_changed = requested.tools_list_changed;
        accepted.prompts_list_changed = requested.prompts_list_changed;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let accepted = context.accepted().clone();
        let (tools, prompts) = (accepted.tools_list_changed, accepted.prompts_list_changed);
        if tools != Some(true) && prompts != Some(true) {
            return self.product.listen(context).await;
        }
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            let sent = match change {
                Ok(Change::Tools) if tools == Some(true) => {
                    context.sink().notify_tool_list_changed().await
                }
                Ok(Change::Prompts) if prompts == Some(true) => {
                    context.sink().notify_prompt_list_changed().await
                }
                Ok(Change::Tools | Change::Prompts) => Ok(()),
                Err(_) => return Ok(()),
            };
            if sent.is_err() {
                return Ok(());
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        self.product.get_task(request, context).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.product.update_task(request, context).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.product.cancel_task(request, context).await
    }
}
