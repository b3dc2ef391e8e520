//! Merges of sessions into a submitted order.
