mod barriers;
mod context_guard;
mod decision;
mod json_chars;
mod log_line;
mod since_prompt;
mod window;
