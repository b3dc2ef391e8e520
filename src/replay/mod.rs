//! Running case files again.
