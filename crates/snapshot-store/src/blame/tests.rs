//! Tests of blame.
