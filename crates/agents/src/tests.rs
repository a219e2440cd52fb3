mod payload;
mod table;
