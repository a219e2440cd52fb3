mod barriers;
mod decision;
mod line;
mod size;
mod window;
