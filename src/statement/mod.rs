//! SQL text and its meaning: what each statement does to tables.
