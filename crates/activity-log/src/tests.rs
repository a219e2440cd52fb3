mod decision;
mod limits;
mod window;
