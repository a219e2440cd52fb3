mod format;
mod reference;
mod tokens;
mod vector;

/// Lays out a model file with these tokens and vectors, each vector with the scale 1.
pub(crate) fn file(id: &str, tokens: &[(&str, &[i8])]) -> Vec<u8> {
    let mut tokens = tokens.to_vec();
    tokens.sort_by_key(|(token, _)| token.as_bytes());
    let dims = tokens[0].1.len();
    let text: String = tokens.iter().map(|(token, _)| *token).collect();
    let mut bytes = b"LHVEC\0\0\x01".to_vec();
    for number in [dims, tokens.len(), id.len(), text.len()] {
        bytes.extend((number as u32).to_le_bytes());
    }
    bytes.extend(id.as_bytes());
    let mut offset = 0_u32;
    bytes.extend(offset.to_le_bytes());
    for (token, _) in &tokens {
        offset += token.len() as u32;
        bytes.extend(offset.to_le_bytes());
    }
    bytes.extend(text.as_bytes());
    bytes.extend(tokens.iter().flat_map(|_| 1.0_f32.to_le_bytes()));
    bytes.extend(tokens.iter().flat_map(|(_, row)| row.iter().map(|value| *value as u8)));
    bytes
}
