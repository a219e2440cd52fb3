use crate::{Vector, dot};

/// Returns bytes that contain the extreme values of a signed byte.
fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| [128, 127, 255, 0, 1, 77][(at * seed + seed) % 6]).collect()
}

#[test]
fn the_dot_product_has_every_dimension() {
    for length in [0, 1, 15, 16, 17, 31, 32, 100, 128, 384] {
        let (a, b) = (bytes(length, 5), bytes(length, 7));
        let expected: i32 = a.iter().zip(&b).map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8)).sum();
        assert_eq!(dot(&Vector::from_bytes(&a), &b), expected, "{length}");
    }
}

#[test]
fn dimensions_that_only_one_vector_has_do_not_count() {
    let (long, short) = (bytes(40, 5), bytes(20, 7));
    let expected = dot(&Vector::from_bytes(&long[..20]), &short);
    assert_eq!(dot(&Vector::from_bytes(&long), &short), expected);
    assert_eq!(dot(&Vector::from_bytes(&short), &long), expected);
}
