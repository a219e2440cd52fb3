-- Which version of the terms the index of passages holds; 0 where it is damaged. An index of another version than the program's
-- is emptied and built again by `memory upkeep`.
CREATE TABLE passage_index (
    terms_version INTEGER NOT NULL
) STRICT;

INSERT INTO passage_index (terms_version) VALUES (1);
