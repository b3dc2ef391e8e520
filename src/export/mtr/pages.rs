//! A test and its result while they are written side by side.

use std::collections::BTreeSet;

/// The two files of a test.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// Statements and commands.
    pub(super) test: String,
    /// Statements and what mysqltest prints behind them.
    pub(super) result: String,
    /// The connection that the next statement goes to.
    connection: String,
    /// The connections that are open, in the order of their names.
    open: BTreeSet<String>,
    /// The statements that take away what the test made.
    drops: Vec<String>,
    /// Whether the test has said how the server numbers the statements of a client.
    says_how_to_number: bool,
}

/// What a test waits for when it has sent a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// It waits for a lock.
    Wait,
    /// It waits, or it is answered. The client sleeps before the server has taken it, too, so that its number must be
    /// known from before ([`Pages::number`]).
    WaitOrAnswer,
    /// The same of a statement that was seen waiting before.
    MoreOrAnswer,
}

/// How MariaDB numbers statements when it takes them, and MySQL when it has answered them, if its performance schema is on.
const NUMBERS: &str = "\
# How the server numbers the statements of a client.
--let $number= p.query_id
if (`SELECT VERSION() NOT LIKE '%MariaDB%'`)
{
  --let $number= (SELECT MAX(s.end_event_id) FROM performance_schema.events_statements_current s JOIN performance_schema.threads t ON t.thread_id = s.thread_id WHERE t.processlist_id = p.id)
}";

impl Pages {
    /// Empty pages of a test that these statements clear away.
    pub(super) fn with_drops(drops: Vec<String>) -> Self {
        Self {
            drops,
            ..Self::default()
        }
    }

    /// A command or a comment: mysqltest prints neither.
    pub(super) fn command(&mut self, line: &str) {
        self.test.push_str(line);
        self.test.push('\n');
    }

    pub(super) fn blank(&mut self) {
        self.test.push('\n');
    }

    /// A statement whose answer is taken at once.
    pub(super) fn sql(&mut self, sql: &str) {
        let line = format!("{sql};\n");
        self.test.push_str(&line);
        self.result.push_str(&line);
    }

    /// A statement whose answer is taken later.
    pub(super) fn send(&mut self, sql: &str) {
        // The command form ends at the line's end, and the statement form at the semicolon.
        match sql.contains('\n') {
            true => self.command(&format!("send {sql};")),
            false => self.command(&format!("--send {sql}")),
        }
        self.result.push_str(&format!("{sql};\n"));
    }

    /// Takes the number of the last statement of a client, before the next one is sent to it.
    pub(super) fn number(&mut self, name: &str) {
        self.go_to("default");
        if !self.says_how_to_number {
            self.says_how_to_number = true;
            self.command(NUMBERS);
        }
        self.command(&format!(
            "--let ${name}_last= `SELECT IFNULL($number, -1) FROM information_schema.processlist p WHERE p.id = ${name}_id`"
        ));
    }

    /// What mysqltest prints behind the last statement.
    pub(super) fn expect(&mut self, text: &str) {
        self.result.push_str(text);
    }

    /// Opens a connection of this name and goes to it.
    pub(super) fn connect(&mut self, name: &str) {
        self.command(&format!("--connect ({name},localhost,root)"));
        self.command(&format!("--let ${name}_id= `SELECT CONNECTION_ID()`"));
        self.connection = name.to_owned();
        self.open.insert(name.to_owned());
    }

    pub(super) fn disconnect(&mut self, name: &str) {
        self.go_to("default");
        self.command(&format!("--disconnect {name}"));
        self.open.remove(name);
    }

    pub(super) fn go_to(&mut self, name: &str) {
        if self.connection != name {
            if !self.test.ends_with("\n\n") {
                self.blank();
            }
            self.command(&format!("--connection {name}"));
            self.connection = name.to_owned();
        }
    }

    /// Waits until the statement that was sent waits for a row lock or another lock of the server, or
    /// was answered, where it may be. Its own connection can ask nothing meanwhile.
    pub(super) fn wait(&mut self, name: &str, awaited: Awaited, seconds: u32) {
        let or_answered = " or is answered";
        let (about, answered) = match awaited {
            Awaited::Wait => ("", String::new()),
            Awaited::WaitOrAnswer => (
                or_answered,
                format!(
                    "(p.command = 'Sleep' AND (${name}_last = -1 OR $number <> ${name}_last))\n       OR "
                ),
            ),
            Awaited::MoreOrAnswer => (or_answered, "p.command = 'Sleep' OR ".to_owned()),
        };
        self.go_to("default");
        self.command(&format!("# Until {name} waits for a lock{about}."));
        self.command(&format!("--let $wait_timeout= {seconds}"));
        self.command(&format!(
            "let $wait_condition=\n  SELECT COUNT(*) = 1 FROM information_schema.processlist p\n  \
             LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id\n  \
             WHERE p.id = ${name}_id\n  \
             AND ({answered}x.trx_state = 'LOCK WAIT' OR p.state LIKE 'Waiting for %');"
        ));
        self.command("--source include/wait_condition.inc");
    }

    /// Waits until the server has ended the connections, and rolled back what they had open.
    pub(super) fn wait_until_gone(&mut self, clients: impl Iterator<Item = u32>) {
        let ids: Vec<String> = clients.map(|number| format!("$c{number}_id")).collect();
        self.command(&format!(
            "let $wait_condition=\n  SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id IN \
             ({});",
            ids.join(", ")
        ));
        self.command("--source include/wait_condition.inc");
    }

    /// Runs what follows without comparing its answers.
    pub(super) fn stop_comparing(&mut self) {
        self.command("# What follows depends on the answer above, and is not compared.");
        self.bear_errors();
    }

    /// Goes on after any error, and prints no answers.
    pub(super) fn bear_errors(&mut self) {
        self.command("--disable_abort_on_error");
        self.command("--disable_result_log");
    }

    /// Compares answers again.
    pub(super) fn compare_again(&mut self) {
        self.command("--enable_result_log");
        self.command("--enable_abort_on_error");
    }

    /// Fails the test where a condition holds.
    pub(super) fn die_if(&mut self, condition: &str, why: &str) {
        self.command(&format!("if ({condition})\n{{\n  --die {why}\n}}"));
    }

    /// Begins what is done only where a statement that was sent has been answered.
    pub(super) fn begin_if_answered(&mut self, name: &str) {
        self.ask_if_answered(name);
        self.command("if ($answered)\n{");
    }

    /// Ends the test, as one that was not run, where a statement that was sent has been answered.
    pub(super) fn skip_if_answered(&mut self, name: &str, why: &str) {
        self.ask_if_answered(name);
        self.skip_if("$answered", why);
    }

    fn ask_if_answered(&mut self, name: &str) {
        self.command(&format!(
            "--let $answered= `SELECT COUNT(*) FROM information_schema.processlist p WHERE p.id = ${name}_id AND \
             p.command = 'Sleep'`"
        ));
    }

    /// Takes the answer of a statement; where it is that of a deadlock's victim, ends the test as one that was not run.
    pub(super) fn reap_or_skip(&mut self, name: &str, why: &str) {
        self.command(&format!(
            "--connection {name}\n--error 0,ER_LOCK_DEADLOCK\n--reap"
        ));
        self.skip_if("$mysql_errno != 0", why);
    }

    /// Fails the test.
    pub(super) fn die(&mut self, why: &str) {
        self.command(&format!("--die {why}"));
    }

    /// Ends the test, as one that was not run, where a statement that was sent waits for a lock.
    pub(super) fn skip_if_waits(&mut self, name: &str, why: &str) {
        self.command(&format!(
            "let $waits= `SELECT COUNT(*) FROM information_schema.processlist p LEFT JOIN \
             information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id WHERE p.id = ${name}_id AND \
             p.command <> 'Sleep' AND (x.trx_state = 'LOCK WAIT' OR p.state LIKE 'Waiting for %')`;"
        ));
        self.skip_if("$waits", why);
    }

    /// Ends the test, as one that was not run, where the last statement changed another number of rows.
    pub(super) fn skip_unless_changed(&mut self, count: u64, why: &str) {
        self.command("--let $changed= `SELECT ROW_COUNT()`");
        self.skip_if(&format!("$changed != {count}"), why);
    }

    /// Ends the test, as one that was not run, where a condition holds: the answers after that were never
    /// seen. Nothing of it is left for the next test of the suite to stumble over.
    pub(super) fn skip_if(&mut self, condition: &str, why: &str) {
        let closed = self
            .open
            .iter()
            .map(|name| format!("  --disconnect {name}\n"));
        let dropped = self.drops.iter().map(|sql| format!("  {sql};\n"));
        let cleanup: String = closed.chain(dropped).collect();
        self.command(&format!(
            "if ({condition})\n{{\n  --connection default\n{cleanup}  --skip {why}\n}}"
        ));
    }
}
