//! The only reader and writer of case files.
