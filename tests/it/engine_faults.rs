//! What is not an answer: cut and silent connections, refused logins, missing privileges. Each is
//! the right error within the deadline, and nothing is sent twice.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rashomon::engine::{self, Demand, EngineError, Health, OpenOptions, Password, Server, Topic};
use rashomon::model::Outcome;

use crate::servers::{Needs, url};

/// The statement deadline where silence is to be noticed. Set-up and what is cut or killed have the
/// usual one: on a busy machine they may take longer.
const DEADLINE: Duration = Duration::from_secs(4);

/// What the proxy does with what passes through it.
const FORWARD: u8 = 0;
const SILENT: u8 = 1;
const CUT: u8 = 2;

/// A proxy before a real server that can fall silent or cut its connections.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    mode: Arc<AtomicU8>,
    /// Bytes that the clients sent.
    pub(crate) sent: Arc<AtomicU64>,
    /// The same of each connection, in the order in which they came.
    sent_by_each: Arc<Mutex<Vec<Arc<AtomicU64>>>>,
}

impl Proxy {
    pub(crate) fn before(host: &str, port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let proxy = Self {
            port: listener.local_addr().expect("address").port(),
            mode: Arc::new(AtomicU8::new(FORWARD)),
            sent: Arc::new(AtomicU64::new(0)),
            sent_by_each: Arc::default(),
        };
        let (mode, sent, server) = (
            Arc::clone(&proxy.mode),
            Arc::clone(&proxy.sent),
            format!("{host}:{port}"),
        );
        let sent_by_each = Arc::clone(&proxy.sent_by_each);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if mode.load(Ordering::SeqCst) == CUT {
                    continue;
                }
                let Ok(upstream) = TcpStream::connect(&server) else {
                    continue;
                };
                let pair = |a: &TcpStream, b: &TcpStream| {
                    (a.try_clone().expect("clone"), b.try_clone().expect("clone"))
                };
                let (there, back) = (pair(&client, &upstream), pair(&upstream, &client));
                let own = Arc::new(AtomicU64::new(0));
                sent_by_each.lock().expect("whole").push(Arc::clone(&own));
                let (m, s) = (Arc::clone(&mode), Arc::clone(&sent));
                std::thread::spawn(move || pump(there.0, there.1, &m, &[&s, &own]));
                let m = Arc::clone(&mode);
                std::thread::spawn(move || pump(back.0, back.1, &m, &[]));
            }
        });
        proxy
    }

    /// Bytes that each connection sent. One that was closed may still say so.
    fn sent_by_each(&self) -> Vec<u64> {
        let all = self.sent_by_each.lock().expect("whole");
        all.iter().map(|sent| sent.load(Ordering::SeqCst)).collect()
    }

    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    /// Cuts every connection, and takes new ones a moment later.
    pub(crate) fn cut(&self) {
        self.set(CUT);
        std::thread::sleep(Duration::from_millis(300));
        self.set(FORWARD);
    }
}

/// Forwards from one side to the other until either closes or the proxy cuts.
fn pump(mut from: TcpStream, mut to: TcpStream, mode: &AtomicU8, counters: &[&AtomicU64]) {
    let _ = from.set_read_timeout(Some(Duration::from_millis(20)));
    let mut buffer = [0; 16384];
    loop {
        if mode.load(Ordering::SeqCst) == CUT {
            break;
        }
        match from.read(&mut buffer) {
            Ok(0) => break,
            // What was read while the proxy cut goes nowhere.
            Ok(_) if mode.load(Ordering::SeqCst) == CUT => break,
            Ok(length) => {
                for sent in counters {
                    sent.fetch_add(length as u64, Ordering::SeqCst);
                }
                let silent = mode.load(Ordering::SeqCst) == SILENT;
                if !silent && to.write_all(&buffer[..length]).is_err() {
                    break;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Host and port of a server's URL.
pub(crate) fn address(url: &str) -> (String, u16) {
    let parsed = url::Url::parse(url).expect("a URL");
    (
        parsed.host_str().expect("a host").to_owned(),
        parsed.port().expect("a port"),
    )
}

/// Every server, by its scheme, behind a proxy.
fn behind_a_proxy(test: &str, check: impl Fn(&str, &Proxy, &str)) {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url(test, needs) else {
            continue;
        };
        let (host, port) = address(&url);
        let proxy = Proxy::before(&host, port);
        let scheme = url.split(':').next().expect("a scheme");
        check(
            &format!("{scheme}://root@127.0.0.1:{}", proxy.port),
            &proxy,
            scheme,
        );
    }
}

fn impatient() -> OpenOptions {
    OpenOptions {
        deadline: DEADLINE,
        ..OpenOptions::default()
    }
}

/// Longer than any of these tests takes: the statement ends because it is cut off.
const ENDLESS: &str = "SELECT SLEEP(600)";

/// Waits until a session of the server runs [`ENDLESS`].
fn await_endless(server: &dyn Server, database: &str) {
    let mut connection = server.connect(database).expect("connect");
    let sql = format!(
        "SELECT 1 FROM information_schema.processlist WHERE db = '{database}' AND info = '{ENDLESS}'"
    );
    while connection
        .execute(&sql)
        .expect("an answer")
        .rows()
        .is_empty()
    {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn error_of<T>(answer: Result<T, EngineError>) -> EngineError {
    answer.err().expect("an error")
}

#[test]
fn a_silent_server_is_a_hang_within_the_deadline_and_nothing_is_sent_again() {
    behind_a_proxy("fault_silent", |url, proxy, scheme| {
        let patient = engine::open(url, &OpenOptions::default()).expect("open");
        let name = format!("rashomon_fault_silent_{scheme}");
        patient.create_database(&name).expect("create");
        let server = engine::open(url, &impatient()).expect("open");
        let mut connection = server.connect(&name).expect("connect");
        proxy.set(SILENT);
        let before = proxy.sent_by_each();
        // What came last is the one connection that is still open.
        let sent = || {
            let now = proxy.sent_by_each();
            assert_eq!(now.len(), before.len(), "another connection was made");
            now.last().expect("one") - before.last().expect("one")
        };
        let began = Instant::now();
        let sql = "SELECT 'silence'";
        let error = error_of(connection.execute(sql));
        let took = began.elapsed();
        assert!(
            matches!(&error, EngineError::Hang { sql: s, seconds: 4 } if s == sql),
            "{error}"
        );
        assert!(took >= DEADLINE, "{took:?}");
        // The header of a packet, the command, and the text: once.
        let once = 4 + 1 + sql.len() as u64;
        assert_eq!(sent(), once);
        let error = error_of(connection.execute("SELECT 1"));
        assert!(
            matches!(error, EngineError::ConnectionLost { .. }),
            "{error}"
        );
        assert_eq!(sent(), once);
        let error = error_of(server.connect(&name));
        assert!(matches!(error, EngineError::Connect { .. }), "{error}");
        // The server is back: what was open is lost, what is new works.
        proxy.set(FORWARD);
        let mut fresh = patient.connect(&name).expect("connect");
        assert!(matches!(fresh.execute("SELECT 1"), Ok(Outcome::Rows(_))));
        drop(fresh);
        patient.drop_database(&name).expect("drop");
    });
}

/// Each packet comes in time, and the answer has no end.
#[test]
fn rows_that_come_for_ever_are_a_hang_at_the_deadline() {
    behind_a_proxy("fault_endless", |url, _, scheme| {
        let server = engine::open(url, &impatient()).expect("open");
        let name = format!("rashomon_fault_endless_{scheme}");
        server.create_database(&name).expect("create");
        let mut connection = server.connect(&name).expect("connect");
        let every = "information_schema.COLLATIONS";
        let sql = format!("SELECT 1 FROM {every} AS a, {every} AS b, {every} AS c, {every} AS d");
        let sql = sql.as_str();
        let error = error_of(connection.execute(sql));
        assert!(
            matches!(&error, EngineError::Hang { sql: s, seconds: 4 } if s == sql),
            "{error}"
        );
        let error = error_of(connection.execute("SELECT 1"));
        assert!(
            matches!(error, EngineError::ConnectionLost { .. }),
            "{error}"
        );
        let mut watcher = server.watcher().expect("watcher");
        watcher.kill(connection.id()).expect("kill");
        server.drop_database(&name).expect("drop");
    });
}

#[test]
fn a_cut_connection_is_lost_wherever_it_was_cut() {
    behind_a_proxy("fault_cut", |url, proxy, scheme| {
        let server = engine::open(url, &OpenOptions::default()).expect("open");
        let name = format!("rashomon_fault_cut_{scheme}");
        server.create_database(&name).expect("create");
        let mut idle = server.connect(&name).expect("connect");
        let mut busy = server.connect(&name).expect("connect");
        let mut watcher = server.watcher().expect("watcher");
        let number = busy.id();
        let thread = std::thread::spawn(move || busy.execute(ENDLESS));
        await_endless(&*server, &name);
        proxy.set(CUT);
        let error = error_of(thread.join().expect("the session"));
        assert!(
            matches!(&error, EngineError::ConnectionLost { sql, .. } if sql == ENDLESS),
            "{error}"
        );
        let error = error_of(idle.execute("BEGIN"));
        assert!(
            matches!(error, EngineError::ConnectionLost { .. }),
            "{error}"
        );
        let error = error_of(idle.transaction_state());
        assert!(
            matches!(error, EngineError::ConnectionLost { .. }),
            "{error}"
        );
        let error = error_of(watcher.waiting(&[1]));
        assert!(
            matches!(error, EngineError::ConnectionLost { .. }),
            "{error}"
        );
        let error = error_of(server.connect(&name));
        assert!(matches!(error, EngineError::Connect { .. }), "{error}");
        proxy.set(FORWARD);
        // The server may not have noticed yet that nobody waits for the answer.
        let mut watcher = server.watcher().expect("watcher");
        watcher.kill(number).expect("kill");
        server.drop_database(&name).expect("drop");
    });
}

#[test]
fn an_unreachable_server_and_a_missing_socket_are_connection_errors() {
    let free = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = free.local_addr().expect("address").port();
    drop(free);
    for url in [
        format!("mariadb://root@127.0.0.1:{port}"),
        "mysql://root@localhost?socket=/nonexistent/s.sock".to_owned(),
    ] {
        let error = error_of(engine::open(&url, &OpenOptions::default()));
        assert!(matches!(error, EngineError::Connect { .. }), "{error}");
        assert!(error.to_string().contains("cannot connect"), "{error}");
    }
}

#[test]
fn a_wrong_password_is_a_login_error_that_does_not_repeat_it() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("fault_password", needs) else {
            continue;
        };
        let wrong = OpenOptions {
            password: Some(Password::new("hunter2-hunter2")),
            ..OpenOptions::default()
        };
        let error = error_of(engine::open(&url, &wrong));
        assert!(matches!(error, EngineError::Login { .. }), "{error}");
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}

#[test]
fn the_url_of_the_other_product_is_refused_with_the_correct_one() {
    for (needs, from, to) in [
        (Needs::MariaDb, "mariadb:", "mysql:"),
        (Needs::MySql, "mysql:", "mariadb:"),
    ] {
        let Some(url) = url("fault_product", needs) else {
            continue;
        };
        let error = error_of(engine::open(
            &url.replacen(from, to, 1),
            &OpenOptions::default(),
        ));
        assert!(matches!(error, EngineError::Target(_)), "{error}");
        assert!(
            error.to_string().contains(&format!("write {from}//")),
            "{error}"
        );
    }
}

/// An account of this test's own, with a password, and no privilege at all.
struct Account<'a> {
    server: &'a dyn Server,
    database: String,
    name: String,
}

impl<'a> Account<'a> {
    fn new(server: &'a dyn Server, name: &str) -> Self {
        let account = Self {
            server,
            database: format!("rashomon_{name}"),
            name: name.to_owned(),
        };
        server.create_database(&account.database).expect("create");
        account.run(&format!("DROP USER IF EXISTS '{name}'@'%'"));
        account.run(&format!(
            "CREATE USER '{name}'@'%' IDENTIFIED BY 'pw of {name}'"
        ));
        account
    }

    /// Runs a statement as the administrator.
    fn run(&self, sql: &str) {
        let mut root = self.server.connect(&self.database).expect("connect");
        let outcome = root.execute(sql).expect("an answer");
        assert!(
            !matches!(outcome, Outcome::Rejected(_)),
            "{sql}: {outcome:?}"
        );
    }

    fn open(&self, url: &str) -> Result<Box<dyn Server>, EngineError> {
        let url = url.replacen("root@", &format!("{}@", self.name), 1);
        let password = Password::new(format!("pw of {}", self.name));
        let options = OpenOptions {
            password: Some(password),
            ..OpenOptions::default()
        };
        engine::open(&url, &options)
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        if let Ok(mut root) = self.server.connect(&self.database) {
            let _ = root.execute(&format!("DROP USER '{}'@'%'", self.name));
        }
        let _ = self.server.drop_database(&self.database);
    }
}

#[test]
fn a_missing_privilege_names_the_grant_and_the_grant_helps() {
    for needs in [Needs::MariaDb, Needs::MySql] {
        let Some(url) = url("fault_privilege", needs) else {
            continue;
        };
        let root = engine::open(&url, &OpenOptions::default()).expect("open");
        let account = Account::new(&*root, "rashomon_modest");
        let modest = account.open(&url).expect("login");
        let name = "rashomon_modest_db";
        let error = error_of(modest.create_database(name));
        let EngineError::Privilege { grant, .. } = &error else {
            panic!("{error}")
        };
        assert!(grant.contains("`rashomon\\_%`"), "{grant}");
        let demand = Demand {
            connections: 13,
            can_write: false,
        };
        let sick = modest.examine(&demand).expect("lines");
        let privilege = sick.iter().find(|line| line.topic == Topic::Privilege);
        let privilege = privilege.expect("a line about privileges");
        assert_eq!(privilege.health, Health::Bad, "{sick:?}");
        account.run(grant);
        modest.create_database(name).expect("granted");
        let error = error_of(modest.watcher());
        let EngineError::Privilege { grant, .. } = &error else {
            panic!("{error}")
        };
        assert!(error.to_string().contains("GRANT "), "{error}");
        account.run(grant);
        assert_eq!(privilege.remedy.as_ref(), Some(grant));
        modest.watcher().expect("granted");
        let well = modest.examine(&demand).expect("lines");
        assert!(
            well.iter().all(|line| line.health != Health::Bad),
            "{well:?}"
        );
        let mut connection = modest.connect(name).expect("connect");
        assert_eq!(
            connection.execute("CREATE TABLE t (a INT)").expect("t"),
            Outcome::Affected(0)
        );
        drop(connection);
        modest.drop_database(name).expect("drop");
    }
}

/// A server of this test's own, started by `scripts/engine`, to be stopped and killed.
pub(crate) struct OwnServer {
    pub(crate) instance: &'static str,
}

impl OwnServer {
    pub(crate) fn script(&self, action: &str) -> String {
        let output = self.run(action);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn run(&self, action: &str) -> std::process::Output {
        // One starts at a time: the script looks for a free port, and takes it a moment later.
        static STARTS: Mutex<()> = Mutex::new(());
        let _turn = (action == "up").then(|| STARTS.lock());
        std::process::Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/engine"))
            .args(["mariadb", action])
            .env("RASHOMON_ENGINE_INSTANCE", self.instance)
            .env("RASHOMON_CONTAINER", "none")
            .env_remove("RASHOMON_ENGINE_PORT")
            .output()
            .expect("the script runs")
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let number: i32 = self.script("pid").parse().expect("a number");
        let pid = rustix::process::Pid::from_raw(number).expect("a process");
        rustix::process::kill_process(pid, signal).expect("a signal");
        // On a busy machine a killed process lives on for a moment; one that nobody has waited for
        // yet has no command line any more.
        let lives = || {
            let line = std::fs::read(format!("/proc/{number}/cmdline"));
            line.is_ok_and(|line| !line.is_empty())
        };
        while signal == rustix::process::Signal::KILL && lives() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Nor does a process stand still at once: a thread of it may still answer.
        while signal == rustix::process::Signal::STOP && !is_stopped(number) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether all threads of a process stand still, as the kernel has it (proc(5), state T).
fn is_stopped(process: i32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("a process");
    threads.filter_map(Result::ok).all(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        // The name of the program ends with the last parenthesis.
        stat.rsplit(')')
            .next()
            .is_none_or(|rest| rest.trim_start().starts_with('T'))
    })
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        // A server that a failed test left would fail the next run, too.
        let killed = self.run("kill");
        assert!(std::thread::panicking() || killed.status.success());
    }
}

#[test]
fn a_stopped_server_hangs_a_killed_one_is_lost_and_both_can_be_reopened() {
    // The URL is not used: it tells that tests with servers are wanted on this machine.
    if url("fault_process", Needs::MariaDb).is_none() {
        return;
    }
    let own = OwnServer {
        instance: "-faults",
    };
    let url = own.script("up");
    let server = engine::open(&url, &OpenOptions::default()).expect("open");
    let name = "rashomon_fault_process";
    server.create_database(name).expect("create");
    let hasty = engine::open(&url, &impatient()).expect("open");
    let mut connection = hasty.connect(name).expect("connect");
    // A server that starts removes what looks like its own files from its temporary folder.
    let answer = connection.execute("SELECT @@tmpdir").expect("an answer");
    let tmpdir = format!("{:?}", answer.rows());
    assert!(tmpdir.contains("mariadb-faults/tmp"), "{tmpdir}");
    own.signal(rustix::process::Signal::STOP);
    let error = error_of(connection.execute("SELECT 1"));
    assert!(matches!(error, EngineError::Hang { .. }), "{error}");
    let error = error_of(hasty.connect(name));
    assert!(matches!(error, EngineError::Connect { .. }), "{error}");
    own.signal(rustix::process::Signal::CONT);
    let mut connection = server.connect(name).expect("connect");
    let thread = std::thread::spawn(move || connection.execute(ENDLESS));
    await_endless(&*server, name);
    own.signal(rustix::process::Signal::KILL);
    let error = error_of(thread.join().expect("the session"));
    assert!(
        matches!(error, EngineError::ConnectionLost { .. }),
        "{error}"
    );
    let error = error_of(server.connect(name));
    assert!(matches!(error, EngineError::Connect { .. }), "{error}");
    let again = own.script("up");
    let server = engine::open(&again, &OpenOptions::default()).expect("open");
    server.create_database(name).expect("create");
}
