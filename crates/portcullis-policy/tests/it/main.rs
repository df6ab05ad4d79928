//! The policy language, seen from outside.

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod oracle_agreement;
#[cfg(test)]
mod properties;
