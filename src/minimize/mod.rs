//! From a finding to a small one with the same signature.
