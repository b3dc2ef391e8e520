//! A fuzzing run: workers, statistics, findings.
