//! Configurations as people have them, of all seven clients: guarded, and given back byte for byte.

mod homes;
mod protects;
mod reads;
mod undoes;
