//! Grammar files as weighted productions.
