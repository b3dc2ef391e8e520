//! From entropy, grammar and dialect to a test case.
