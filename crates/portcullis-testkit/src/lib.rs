//! Peers that tests talk to. A dev-dependency: nothing here is part of the product.

pub mod pharo_stand_in;
