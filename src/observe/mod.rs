//! How row versions are learned, and what each statement sees of them.
