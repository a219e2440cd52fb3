mod barriers;
mod decision;
mod json_chars;
mod line;
mod since_prompt;
mod window;
