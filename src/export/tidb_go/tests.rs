//! The test of small cases, as TiDB's maintainers read it.

use std::path::Path;

use expect_test::{Expect, expect};

use super::{REPLIES, TidbGo};
use crate::export::CaseFormat as _;
use crate::reproducer::{load, read};

const HEADER: &str = "--! format = 1\n--! engine = \"tidb\"\n--! isolation = \"READ COMMITTED\"\n\
                      --! session_setup = [\"SET SESSION tidb_txn_mode = 'pessimistic'\"]\n\
                      /* init */ CREATE TABLE t (id INT PRIMARY KEY, v DOUBLE, w TEXT);\n";

fn exported(case: &str) -> String {
    let file = read(&format!("{HEADER}{case}"), "x.sql").unwrap();
    TidbGo.write(&file).unwrap().text
}

/// What the sessions do, of a test of two.
fn check(case: &str, expected: &Expect) {
    let text = exported(case);
    let last = "\ttk2.MustExec(\"SET SESSION tidb_txn_mode = 'pessimistic'\")\n\n";
    let (_, steps) = text.split_once(last).unwrap();
    let (steps, _) = steps.split_once("\n}\n").unwrap();
    // `expect!` takes the tab of every line for the indentation of this file.
    let steps: String = steps
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix('\t').unwrap_or(line)))
        .collect();
    expected.assert_eq(&steps);
}

/// The test of a find of ours, without the functions that stand behind it.
fn reproducer(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("reproducers/tidb");
    let exported = TidbGo.write(&load(&root.join(name)).unwrap()).unwrap();
    exported.text.replace(REPLIES, "[replies.go]\n")
}

#[test]
fn a_wrong_row_is_told_by_must_query() {
    expect![[r#"
        // TiDB: SELECT returns wrong rows at REPEATABLE READ
        // Seen on 8.0.11-TiDB-v8.5.4-ac41d7e on unistore.
        //
        // Put it into TiDB's source as pkg/session/test/bugtorepeat/bug_test.go. It fails while the bug is there:
        //
        //	go test -tags=intest ./pkg/session/test/bugtorepeat

        package bugtorepeat

        import (
        	"context"
        	"fmt"
        	"math/big"
        	"slices"
        	"testing"
        	"time"

        	"github.com/pingcap/errors"
        	"github.com/pingcap/tidb/pkg/parser/terror"
        	"github.com/pingcap/tidb/pkg/session"
        	"github.com/pingcap/tidb/pkg/testkit"
        	"github.com/stretchr/testify/require"
        )

        func TestBugToRepeat(t *testing.T) {
        	store := testkit.CreateMockStore(t)
        	tk := testkit.NewTestKit(t, store)
        	tk.MustExec("use test")
        	tk.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk.MustExec("SET SESSION time_zone = '+00:00'")
        	tk.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk.MustExec("SET SESSION autocommit = 1")
        	tk.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        	tk.MustExec("CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 DOUBLE NOT NULL)")
        	tk.MustExec("INSERT INTO t0 (pkey, c0) VALUES (4, 2.25)")

        	tk1 := testkit.NewTestKit(t, store)
        	tk1.MustExec("use test")
        	tk1.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk1.MustExec("SET SESSION time_zone = '+00:00'")
        	tk1.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk1.MustExec("SET SESSION autocommit = 1")
        	tk1.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk1.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

        	tk2 := testkit.NewTestKit(t, store)
        	tk2.MustExec("use test")
        	tk2.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk2.MustExec("SET SESSION time_zone = '+00:00'")
        	tk2.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk2.MustExec("SET SESSION autocommit = 1")
        	tk2.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk2.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

        	tk1.MustExec("BEGIN")
        	tk2.MustExec("UPDATE t0 SET c0 = 1.5")
        	require.Equal(t, uint64(1), tk2.Session().AffectedRows())
        	// The bug: the answer was (4, 1.5).
        	check(t, execute(tk1, "SELECT * FROM t0 ORDER BY t0.pkey DESC"), rowsInOrder([]any{"4", number("2.25")}))
        	tk1.MustExec("COMMIT")

        	check(t, execute(tk, "SELECT * FROM t0"), rows([]any{"4", number("1.5")}))
        }

        [replies.go]
    "#]].assert_eq(&reproducer("non-repeatable-read-ab82943a.sql"));
}

#[test]
fn an_internal_error_is_right_nowhere() {
    expect![[r#"
        // TiDB: SELECT is rejected with error 8133 (internal error) at REPEATABLE READ
        // Seen on 8.0.11-TiDB-v8.5.4-ac41d7e on unistore.
        //
        // Put it into TiDB's source as pkg/session/test/bugtorepeat/bug_test.go. It fails while the bug is there:
        //
        //	go test -tags=intest ./pkg/session/test/bugtorepeat

        package bugtorepeat

        import (
        	"context"
        	"fmt"
        	"math/big"
        	"slices"
        	"testing"
        	"time"

        	"github.com/pingcap/errors"
        	"github.com/pingcap/tidb/pkg/parser/terror"
        	"github.com/pingcap/tidb/pkg/session"
        	"github.com/pingcap/tidb/pkg/testkit"
        	"github.com/stretchr/testify/require"
        )

        func TestBugToRepeat(t *testing.T) {
        	store := testkit.CreateMockStore(t)
        	tk := testkit.NewTestKit(t, store)
        	tk.MustExec("use test")
        	tk.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk.MustExec("SET SESSION time_zone = '+00:00'")
        	tk.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk.MustExec("SET SESSION autocommit = 1")
        	tk.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        	tk.MustExec("CREATE TABLE t0 (pkey BIGINT NOT NULL PRIMARY KEY, c0 DOUBLE, c1 DOUBLE NOT NULL DEFAULT 2.25)")
        	tk.MustExec("CREATE INDEX i_t1_0 ON t0 (c1)")

        	tk1 := testkit.NewTestKit(t, store)
        	tk1.MustExec("use test")
        	tk1.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk1.MustExec("SET SESSION time_zone = '+00:00'")
        	tk1.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk1.MustExec("SET SESSION autocommit = 1")
        	tk1.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk1.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

        	tk2 := testkit.NewTestKit(t, store)
        	tk2.MustExec("use test")
        	tk2.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk2.MustExec("SET SESSION time_zone = '+00:00'")
        	tk2.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk2.MustExec("SET SESSION autocommit = 1")
        	tk2.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk2.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")

        	tk1.MustExec("BEGIN")
        	tk2.MustExec("INSERT INTO t0 (pkey, c1) VALUES (10, 0)")
        	require.Equal(t, uint64(1), tk2.Session().AffectedRows())
        	// The bug: the answer was error 1030 or 1180 or 8003 or 8133 or 8134 or 8138 or 8139 or 8140 or 8141 or 8223 (internal error).
        	tk1.MustQuery("WITH q1 AS (SELECT t0.pkey, t0.c0 FROM t0 WHERE t0.c1 = 0) SELECT * FROM q1 ORDER BY q1.pkey DESC")
        	tk1.MustExec("COMMIT")

        	check(t, execute(tk, "SELECT * FROM t0"), rows([]any{"10", "<nil>", number("0.0")}))
        }

        [replies.go]
    "#]].assert_eq(&reproducer("internal-error-8015e2f4.sql"));
}

#[test]
fn a_statement_that_is_never_answered_fails_the_test_in_a_minute() {
    expect![[r#"
        // TiDB: in a transaction that has changed the table, a backward scan of two ranges of an index never ends
        // Seen on 8.0.11-TiDB-v8.5.4-ac41d7e on unistore.
        //
        // Put it into TiDB's source as pkg/session/test/bugtorepeat/bug_test.go. It fails while the bug is there:
        //
        //	go test -tags=intest ./pkg/session/test/bugtorepeat

        package bugtorepeat

        import (
        	"context"
        	"fmt"
        	"math/big"
        	"slices"
        	"testing"
        	"time"

        	"github.com/pingcap/errors"
        	"github.com/pingcap/tidb/pkg/parser/terror"
        	"github.com/pingcap/tidb/pkg/session"
        	"github.com/pingcap/tidb/pkg/testkit"
        	"github.com/stretchr/testify/require"
        )

        func TestBugToRepeat(t *testing.T) {
        	store := testkit.CreateMockStore(t)
        	tk := testkit.NewTestKit(t, store)
        	tk.MustExec("use test")
        	tk.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk.MustExec("SET SESSION time_zone = '+00:00'")
        	tk.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk.MustExec("SET SESSION autocommit = 1")
        	tk.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        	tk.MustExec("CREATE TABLE t (pkey INT NOT NULL PRIMARY KEY, c0 INT, c1 INT)")
        	tk.MustExec("CREATE INDEX i ON t (c0)")
        	tk.MustExec("INSERT INTO t (pkey, c0, c1) VALUES (2, 20, 0), (3, 21, 0), (4, 41, 0)")

        	tk1 := testkit.NewTestKit(t, store)
        	tk1.MustExec("use test")
        	tk1.MustExec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_BACKSLASH_ESCAPES'")
        	tk1.MustExec("SET SESSION time_zone = '+00:00'")
        	tk1.MustExec("SET NAMES utf8mb4 COLLATE utf8mb4_bin")
        	tk1.MustExec("SET SESSION autocommit = 1")
        	tk1.MustExec("SET SESSION tidb_txn_mode = 'pessimistic'")
        	tk1.MustExec("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

        	tk1.MustExec("BEGIN")
        	tk1.MustExec("UPDATE t SET c1 = 1 WHERE pkey = 4")
        	require.Equal(t, uint64(1), tk1.Session().AffectedRows())
        	answered1x3 := send(tk1, "SELECT MAX(t.c0) FROM t WHERE t.c0 IN (20, 21) AND t.pkey > 5")
        	check(t, receive(t, answered1x3), accepted)
        	tk1.MustExec("ROLLBACK")
        }

        [replies.go]
    "#]].assert_eq(&reproducer("hang-404888f5.sql"));
}

#[test]
fn a_statement_that_waits_is_sent_and_its_answer_taken_when_it_goes_on() {
    check(
        "/* s1 */ BEGIN;\n\
         /* s1 */ UPDATE t SET v = 1; -- @got affected 2\n\
         /* s2 */ BEGIN;\n\
         /* s2 */ UPDATE t SET v = 2; -- @blocks s1  @got affected 2  @expect affected 1\n\
         /* s2 */ SELECT id FROM t; -- @got (1) (2)\n\
         /* s1 */ COMMIT; -- @resumes s2\n\
         /* end */ SELECT id FROM t; -- @got (1) (2)",
        &expect![[r#"
            	tk1.MustExec("BEGIN")
            	tk1.MustExec("UPDATE t SET v = 1")
            	require.Equal(t, uint64(2), tk1.Session().AffectedRows())
            	tk2.MustExec("BEGIN")
            	// The bug: the answer was 2 rows changed.
            	answered2x2 := send(tk2, "UPDATE t SET v = 2")
            	require.True(t, waits(t, tk, tk2, answered2x2), "whether the statement waits for a lock")
            	tk1.MustExec("COMMIT")
            	check(t, receive(t, answered2x2), changed(1))
            	execute(tk2, "SELECT id FROM t")
            	tk2.MustExec("rollback")

            	execute(tk, "SELECT id FROM t")
        "#]],
    );
}

#[test]
fn waits_that_should_or_should_not_be_are_demanded() {
    check(
        "/* s1 */ BEGIN;\n\
         /* s1 */ UPDATE t SET v = 1 WHERE id = 1; -- @got affected 1\n\
         /* s2 */ UPDATE t SET v = 2 WHERE id = 2; -- @waits  @got affected 1  @expect no wait\n\
         /* s1 */ COMMIT; -- @resumes s2",
        &expect![[r#"
            tk1.MustExec("BEGIN")
            tk1.MustExec("UPDATE t SET v = 1 WHERE id = 1")
            require.Equal(t, uint64(1), tk1.Session().AffectedRows())
            // The bug: the statement waits for a lock.
            answered2x1 := send(tk2, "UPDATE t SET v = 2 WHERE id = 2")
            require.False(t, waits(t, tk, tk2, answered2x1), "whether the statement waits for a lock")
            check(t, receive(t, answered2x1), accepted)
            execute(tk1, "COMMIT")
        "#]],
    );
}

#[test]
fn answers_are_compared_by_their_values_and_rejections_by_their_codes() {
    check(
        "/* s1 */ SELECT w, id FROM t; -- @got ('b a', 1) ('', 2)  @expect ('b a', 2) ('a', NULL)\n\
         /* s1 */ SELECT id FROM t ORDER BY id DESC; -- @got (2) (1)\n\
         /* s2 */ SELECT v FROM t; -- @got (2.0) (10)\n\
         /* s2 */ SELECT w FROM t; -- @got (x'00ff')\n\
         /* s2 */ SELECT id FROM t; -- @got (1) @expect (2) @expect (3)\n\
         /* s1 */ INSERT INTO t (id) VALUES (1); -- @error deadlock\n\
         /* s1 */ SELECT id FROM t FOR UPDATE; -- @error serialization",
        &expect![[r#"
            // The bug: the answer was ('b a', 1) ('', 2).
            tk1.MustQuery("SELECT w, id FROM t").Sort().Check([][]any{{"a", "<nil>"}, {"b a", "2"}})
            tk1.MustQuery("SELECT id FROM t ORDER BY id DESC").Sort().Check(testkit.Rows("1", "2"))
            check(t, execute(tk2, "SELECT v FROM t"), rows([]any{number("2.0")}, []any{"10"}))
            check(t, execute(tk2, "SELECT w FROM t"), rows([]any{"\x00\xff"}))
            // The bug: the answer was (1).
            check(t, execute(tk2, "SELECT id FROM t"), rows([]any{"2"}), rows([]any{"3"}))
            tk1.MustGetErrCode("INSERT INTO t (id) VALUES (1)", 1213)
            check(t, execute(tk1, "SELECT id FROM t FOR UPDATE"), failure(8002, 8005, 8022, 9007))
        "#]],
    );
}

#[test]
fn a_test_imports_what_it_uses() {
    let require = "\t\"github.com/stretchr/testify/require\"\n";
    let plain = exported("/* s1 */ SELECT id FROM t; -- @got empty  @expect (1)");
    assert!(
        !plain.contains(require) && !plain.contains("require."),
        "{plain}"
    );
    let counted = exported("/* s1 */ DELETE FROM t; -- @got affected 1  @expect affected 2");
    assert!(counted.contains(require), "{counted}");
    for text in [plain, counted] {
        assert!(!text.contains("check("), "{text}");
    }
}

#[test]
fn other_products_and_answers_that_are_wrong_together_are_refused() {
    let refusal = |text: &str| {
        let file = read(text, "x.sql").unwrap();
        TidbGo.write(&file).unwrap_err().to_string()
    };
    let case = format!("{HEADER}/* s1 */ SELECT id FROM t; -- @got (1)");
    assert_eq!(
        refusal(&case.replace("\"tidb\"", "\"mysql\"")),
        "testkit runs tests of TiDB, not of MySQL"
    );
    assert_eq!(
        refusal(&case.replace("--! engine", "--! kind = \"not-serializable\"\n--! engine")),
        "no answer is wrong alone, and a test of this format compares each answer alone"
    );
}
