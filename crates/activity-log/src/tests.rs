mod barriers;
mod decision;
mod line;
mod since_prompt;
mod size;
mod window;
