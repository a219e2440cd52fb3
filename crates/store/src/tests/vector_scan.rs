//! Comparing many vectors.

use longhaul_memory::embedding::Vector;

use super::vectors::{DIMS, Memory};
use crate::{RecordId, What};

const BLOCKS: i64 = 600;
const SLOTS: usize = 128;

/// Returns a vector with a value in one dimension only.
fn along(dimension: usize) -> Vector {
    let mut values = [0.0; DIMS];
    values[dimension] = 1.0;
    Vector::new(&values).unwrap()
}

/// Stores a block whose first vector is that of the prompt `id`.
fn add_block(memory: &Memory, block: i64, project: i64, id: i64, vector: &Vector) {
    let (mut keys, mut vectors) = (vec![0_u8; SLOTS * 16], vec![0_u8; SLOTS * DIMS]);
    keys[4..8].copy_from_slice(&(project as u32).to_le_bytes());
    keys[8..16].copy_from_slice(&id.to_le_bytes());
    vectors[..DIMS].copy_from_slice(&vector.to_bytes());
    let sql = "INSERT INTO vector_blocks (model_id, block, keys, vectors) VALUES (?1, ?2, ?3, ?4)";
    memory.store.connection.execute(sql, (memory.model.id, block, keys, vectors)).unwrap();
}

/// Returns a memory with blocks of two projects in turn. The first and the last of each are along dimension 1, the others
/// along 0. The number of a prompt is that of its block, from 1.
fn memory() -> Memory {
    let mut memory = Memory::new();
    memory.session("s2", "/q");
    // A project is known as soon as it has a record.
    memory.prompt("s1", "one", 1);
    memory.prompt("s2", "two", 2);
    let project = |key: &str| {
        let sql = "SELECT id FROM projects WHERE project_key = ?1";
        memory.store.connection.query_row(sql, [key], |row| row.get::<_, i64>(0)).unwrap()
    };
    let projects = [project("/p"), project("/q")];
    let transaction = memory.store.connection.unchecked_transaction().unwrap();
    for block in 0..BLOCKS {
        let is_at_end = !(2..BLOCKS - 2).contains(&block);
        add_block(&memory, block, projects[block as usize % 2], block + 1, &along(usize::from(is_at_end)));
    }
    transaction.commit().unwrap();
    memory
}

#[track_caller]
fn check(memory: &Memory, project: Option<&str>, expected: &[i64]) {
    let found = memory.store.nearest(&memory.model, project, &along(1), 10).unwrap();
    let records: Vec<RecordId> = found.iter().map(|(record, _)| *record).collect();
    let expected: Vec<RecordId> = expected.iter().map(|id| RecordId { what: What::Prompt, id: *id }).collect();
    assert_eq!(records, expected, "{project:?}");
}

#[test]
fn all_of_many_blocks_are_compared() {
    let memory = memory();
    check(&memory, None, &[1, 2, BLOCKS - 1, BLOCKS]);
    check(&memory, Some("/p"), &[1, BLOCKS - 1]);
    check(&memory, Some("/q"), &[2, BLOCKS]);
    check(&memory, Some("/r"), &[]);
}

#[test]
fn what_a_transaction_has_written_is_compared() {
    let memory = memory();
    let _transaction = memory.store.connection.unchecked_transaction().unwrap();
    add_block(&memory, BLOCKS, 1, BLOCKS + 1, &along(1));
    check(&memory, None, &[1, 2, BLOCKS - 1, BLOCKS, BLOCKS + 1]);
}

#[test]
fn a_connection_that_only_reads_compares_the_same() {
    let mut memory = memory();
    memory.read_only();
    check(&memory, None, &[1, 2, BLOCKS - 1, BLOCKS]);
}
