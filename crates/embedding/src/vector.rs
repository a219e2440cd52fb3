//! Vectors of one byte per dimension.

/// Values that are multiplied at once.
const LANES: usize = 32;

/// A vector of length 1, rounded to one byte per dimension.
///
/// Vectors of the same model compare by [`similarity`], with no division per vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector(Vec<i8>);

impl Vector {
    /// Rounds a vector of any length other than zero; `None` where it has none, or is not finite.
    pub fn new(values: &[f32]) -> Option<Self> {
        let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return None;
        }
        let scale = f64::from(scale(values.len())) / length;
        Some(Self(values.iter().map(|value| (f64::from(*value) * scale).round() as i8).collect()))
    }

    /// Takes a vector that was stored.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| *byte as i8).collect())
    }

    /// Returns it as it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().map(|value| *value as u8).collect()
    }

    /// Returns the number of dimensions.
    pub fn dims(&self) -> usize {
        self.0.len()
    }

    /// Returns how similar two vectors of the same model are: 1 the same, 0 unrelated.
    pub fn similarity(&self, other: &Self) -> f32 {
        similarity(dot(self, &other.to_bytes()), self.dims())
    }
}

/// Returns the dot product with a stored vector.
pub fn dot(vector: &Vector, stored: &[u8]) -> i32 {
    let length = vector.0.len().min(stored.len());
    let (values, last_values) = vector.0[..length].as_chunks::<LANES>();
    let (bytes, last_bytes) = stored[..length].as_chunks::<LANES>();
    let mut sum = 0;
    for (values, bytes) in values.iter().zip(bytes) {
        // Compilers make vector instructions of exactly this: first widened to 16 bits, then multiplied and added in pairs.
        // By position: in a build without link-time optimisation, `map` of an array was a call for every value.
        let (mut left, mut right) = ([0_i16; LANES], [0_i16; LANES]);
        for at in 0..LANES {
            left[at] = i16::from(values[at]);
            right[at] = i16::from(bytes[at] as i8);
        }
        for at in 0..LANES {
            sum += i32::from(left[at]) * i32::from(right[at]);
        }
    }
    for (value, byte) in last_values.iter().zip(last_bytes) {
        sum += i32::from(*value) * i32::from(*byte as i8);
    }
    sum
}

/// Returns the similarity that a dot product of vectors with so many dimensions stands for.
pub fn similarity(dot: i32, dims: usize) -> f32 {
    dot as f32 / scale(dims).powi(2)
}

/// Returns what 1 is in a vector with so many dimensions.
///
/// Values are small where there are many dimensions, so that they would use few of a byte's values. The few that are
/// too large for a byte are cut.
fn scale(dims: usize) -> f32 {
    (127.0 * (dims as f32).sqrt() / 6.0).max(127.0)
}

/// The mean of token vectors.
#[derive(Debug, Clone)]
pub struct Mean(Vec<f32>);

impl Mean {
    /// Returns the mean of nothing.
    pub fn new(dims: usize) -> Self {
        Self(vec![0.0; dims])
    }

    /// Adds a token's vector, as the model file has it.
    pub fn add(&mut self, row: &[u8], scale: f32) {
        for (sum, value) in self.0.iter_mut().zip(row) {
            *sum += f32::from(*value as i8) * scale;
        }
    }

    /// Returns the mean, at length 1; `None` where nothing was added.
    pub fn finish(&self) -> Option<Vector> {
        Vector::new(&self.0)
    }
}
