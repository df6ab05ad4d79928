//! Configurations as people have them, of all seven clients: guarded, and given back byte for byte.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod homes;
mod protects;
mod reads;
mod redirects;
mod undoes;
