//! Warnings: what is legal and probably not meant.

use crate::policy::Policy;
use crate::problem::Problems;

pub(crate) fn warn(_policy: &Policy, _problems: &mut Problems) {}
