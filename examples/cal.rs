#![allow(clippy::all, clippy::print_stdout)]
fn main() {
    let url = std::env::args().nth(1).unwrap();
    let s = rashomon::engine::open(&url, &Default::default()).unwrap();
    let t = std::time::Instant::now();
    let r = rashomon::calibrate::run(&*s, &mut std::io::stdout()).unwrap();
    println!("{:?} {:?}", r.counts(), t.elapsed());
}
