def execute(connection, sql):
    """The answer of SQLite; a lock that another connection holds is an error at once."""
    try:
        cursor = connection.execute(sql)
        if cursor.description is None:
            return Changed(cursor.rowcount)
        return Rows(cursor.fetchall())
    except sqlite3.Error as refused:
        return Error([getattr(refused, "sqlite_errorcode", 0) & 0xFF], str(refused))


def connect(file, setup):
    connection = sqlite3.connect(file, isolation_level=None, timeout=0)
    for sql in ["PRAGMA foreign_keys = ON"] + setup:
        must(execute(connection, sql), sql)
    return connection


def run_once(_):
    """Runs the case in a file of its own, and returns its steps with their answers."""
    print("SQLite " + sqlite3.sqlite_version)
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/case.db"
        maker = connect(file, ["PRAGMA journal_mode = WAL"])
        for sql in SETUP:
            must(execute(maker, sql), sql)
        maker.close()
        clients = {number: connect(file, setup) for number, setup in CLIENTS.items()}
        steps = [Step(*step) for step in STEPS]
        for step in steps:
            print("client %d> %s" % (step.client, step.sql))
            step.answer = execute(clients[step.client], step.sql)
            step.tell()
        for client in clients.values():
            client.close()
        reader = connect(file, [])
        return steps + at_last(reader)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS, help="how often the case is run, at most")
    return parser.parse_args()
