mod decision;
mod window;
