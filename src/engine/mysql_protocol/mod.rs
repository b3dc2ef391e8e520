//! MySQL's protocol and the products that speak it.
//!
//! Connections are plain: no pool, no reconnect, every timeout set. A product is a file with a
//! [`Product`](product::Product) and a line in [`PRODUCTS`]; nothing else asks which one it is.

mod binlog;
mod connection;
mod databases;
mod examination;
mod failure;
mod mariadb;
mod mysql;
mod product;
mod products;
mod protocol;
mod tidb;
mod value;
mod watcher;

pub(super) use products::PRODUCTS;
