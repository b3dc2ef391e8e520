// reply is what a statement comes to: rows, a number of changed rows, or an error.
type reply struct {
	rows    [][]string
	changed uint64
	err     error
}

// execute runs a statement and reads its rows to their end.
func execute(tk *testkit.TestKit, sql string) reply {
	set, err := tk.Exec(sql)
	if err != nil || set == nil {
		return reply{changed: tk.Session().AffectedRows(), err: err}
	}
	rows, err := session.ResultSetToStringSlice(context.Background(), tk.Session(), set)
	return reply{rows: rows, err: err}
}

// send executes a statement while the other sessions go on.
func send(tk *testkit.TestKit, sql string) <-chan reply {
	answered := make(chan reply, 1)
	go func() { answered <- execute(tk, sql) }()
	return answered
}

// receive takes the answer of a statement that was sent.
func receive(t *testing.T, answered <-chan reply) reply {
	select {
	case got := <-answered:
		return got
	case <-time.After(time.Minute):
		require.FailNow(t, "the statement is not answered within a minute")
		return reply{}
	}
}

// waits returns as soon as the session waits for a lock or is answered, and says whether it waits. A
// session asks for every lock by a moment in this state: one that waits stays in it.
func waits(t *testing.T, watcher, tk *testkit.TestKit, answered <-chan reply) bool {
	sql := fmt.Sprintf("SELECT SESSION_ID FROM information_schema.TIDB_TRX WHERE SESSION_ID = %d AND STATE = 'LockWaiting' "+
		"AND TIMESTAMPDIFF(MICROSECOND, WAITING_START_TIME, NOW(6)) > 50000", tk.Session().GetSessionVars().ConnectionID)
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if len(answered) > 0 {
			return false
		}
		if len(watcher.MustQuery(sql).Rows()) > 0 {
			return true
		}
	}
	require.FailNow(t, "the statement neither waits for a lock nor is answered")
	return false
}

// check fails the test unless the answer is one of those that are right.
func check(t *testing.T, got reply, right ...func(reply) bool) {
	is := func(one func(reply) bool) bool { return one(got) }
	require.Truef(t, slices.ContainsFunc(right, is), "the answer is wrong: rows %q, %d rows changed, error %v",
		got.rows, got.changed, got.err)
}

// number is a cell that is compared by its value: a DOUBLE of 2.0 is printed as 2.
type number string

func (n number) is(cell string) bool {
	one, isNumber := new(big.Rat).SetString(string(n))
	other, alsoNumber := new(big.Rat).SetString(cell)
	return isNumber && alsoNumber && one.Cmp(other) == 0
}

func sameRow(cells []string, due []any) bool {
	return slices.EqualFunc(cells, due, func(cell string, due any) bool {
		if n, ok := due.(number); ok {
			return n.is(cell)
		}
		return cell == due
	})
}

// rows are these, in any order.
func rows(due ...[]any) func(reply) bool {
	return func(got reply) bool {
		left := slices.Clone(due)
		for _, cells := range got.rows {
			at := slices.IndexFunc(left, func(due []any) bool { return sameRow(cells, due) })
			if at < 0 {
				return false
			}
			left = slices.Delete(left, at, at+1)
		}
		return got.err == nil && len(left) == 0
	}
}

// rowsInOrder are these, in this order.
func rowsInOrder(due ...[]any) func(reply) bool {
	return func(got reply) bool { return got.err == nil && slices.EqualFunc(got.rows, due, sameRow) }
}

func changed(count uint64) func(reply) bool {
	return func(got reply) bool { return got.err == nil && got.changed == count }
}

func accepted(got reply) bool { return got.err == nil }

// failure is an error with one of these codes; any error where there are none.
func failure(codes ...uint16) func(reply) bool {
	return func(got reply) bool {
		if got.err == nil || len(codes) == 0 {
			return got.err != nil
		}
		known, ok := errors.Cause(got.err).(*terror.Error)
		return ok && slices.Contains(codes, terror.ToSQLError(known).Code)
	}
}
