//! The ways `ntfy` and `webhook`: one POST with a small JSON object.

use std::path::Path;

use longhaul_core::config::{FilePath, Ntfy, Webhook};
use longhaul_core::{Env, may_receive_secret};
use longhaul_notify::{ntfy_body, webhook_body};
use longhaul_runtime::bounded_read;
use longhaul_runtime::waiting_times::NOTIFICATION_WAY;

use crate::outgoing::{Outgoing, SendError};

/// Publishes the notification to a topic.
pub(crate) fn send_ntfy(outgoing: &Outgoing, settings: &Ntfy, env: &Env) -> Result<(), SendError> {
    let url = settings.url.get().ok_or(SendError::NotSet("notify.ntfy.url"))?;
    let topic = settings.topic.get().ok_or(SendError::NotSet("notify.ntfy.topic"))?;
    let token = Token { file: &settings.token_file, url, section: "notify.ntfy" }.read(env.home_dir.as_deref())?;
    post(url, &ntfy_body(topic, outgoing.state, &outgoing.message).to_string(), token.as_deref())
}

/// Sends the notification to the user's address.
pub(crate) fn send_webhook(outgoing: &Outgoing, settings: &Webhook, env: &Env) -> Result<(), SendError> {
    let url = settings.url.get().ok_or(SendError::NotSet("notify.webhook.url"))?;
    let token = Token { file: &settings.token_file, url, section: "notify.webhook" }.read(env.home_dir.as_deref())?;
    let body = webhook_body(&outgoing.session, &outgoing.subject(), &outgoing.message, outgoing.at);
    post(url, &body.to_string(), token.as_deref())
}

/// Returns why a token could not be sent to an address; `None` if it could, or if no file is named.
pub(crate) fn token_problem(file: &FilePath, url: &str, section: &'static str, env: &Env) -> Option<SendError> {
    Token { file, url, section }.read(env.home_dir.as_deref()).err()
}

/// A token in a file, and where it would be sent.
struct Token<'a> {
    file: &'a FilePath,
    url: &'a str,
    section: &'static str,
}

impl Token<'_> {
    /// Returns the token; `None` if no file is named.
    fn read(&self, home: Option<&Path>) -> Result<Option<String>, SendError> {
        if self.file.is_empty() {
            return Ok(None);
        }
        if !may_receive_secret(self.url) {
            return Err(SendError::Unencrypted(self.section));
        }
        let path = self.file.resolve(home).ok_or(SendError::Token(self.section))?;
        let text = bounded_read::text(&path, bounded_read::SMALL).map_err(|_| SendError::Token(self.section))?;
        let token = text.trim();
        // Anything else would be a second header.
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if is_token { Ok(Some(token.to_owned())) } else { Err(SendError::Token(self.section)) }
    }
}

/// Sends a JSON object. The answer is not read, only its status.
fn post(url: &str, body: &str, token: Option<&str>) -> Result<(), SendError> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(NOTIFICATION_WAY))
        .http_status_as_error(false)
        // The token must not be sent to the target of a redirect.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .build()
        .into();
    let mut request = agent.post(url).header("content-type", "application/json");
    if let Some(token) = token {
        request = request.header("authorization", &format!("Bearer {token}"));
    }
    // The address may contain a secret, so it is not part of the error.
    let response = request.send(body).map_err(|error| SendError::Unreachable(error.to_string().replace(url, "URL")))?;
    match response.status().as_u16() {
        200..300 => Ok(()),
        status => Err(SendError::Refused(status)),
    }
}
