//! Integration tests, one binary.

#[cfg(test)]
mod classifier;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod index;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod outside_data;
#[cfg(test)]
mod pharo;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod shipped;

#[cfg(test)]
mod given;
