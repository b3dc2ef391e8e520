//! Every read mode of a dialect, proved on a live server.
