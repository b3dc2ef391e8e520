class Client(threading.Thread):
    """One connection. It executes one statement after another, while other clients go on."""

    def __init__(self, number, connection, setup):
        super().__init__(daemon=True)
        self.number = number
        self.connection = connection
        self.id = connection_id(connection)
        self.todo = queue.Queue()
        self.running = []  # Steps that are not answered yet, oldest first.
        self.lost = None
        for sql in setup:
            must(execute(connection, sql), sql)
        self.start()

    def send(self, step):
        self.running.append(step)
        self.todo.put(step)

    def run(self):
        while True:
            step = self.todo.get()
            try:
                step.answer = execute(self.connection, step.sql)
            except Lost as lost:
                self.lost = lost
                return
            self.running.pop(0)


def settle(clients, watcher):
    """Comes back when every client has answered or waits for a lock."""
    until = time.monotonic() + HANGS_AFTER_SECONDS
    while True:
        soon = time.monotonic() + 0.1
        while time.monotonic() < soon and any(client.running for client in clients):
            time.sleep(0.005)
        for client in clients:
            if client.lost:
                raise client.lost
        running = [(client, client.running[0]) for client in clients if client.running]
        if all(waits(watcher, client) and step.answer is None for client, step in running):
            for _, step in running:
                step.waited = True
            return
        if time.monotonic() > until:
            raise Hang("a statement has no answer after %d s, and waits for no lock"
                       % HANGS_AFTER_SECONDS)


def close(clients, watcher):
    """Ends every connection and waits until the server has rolled back what was open."""
    numbers = ", ".join(str(client.id) for client in clients)
    for client in clients:
        execute(watcher, KILL % client.id)
    left = LEFT % numbers
    while clients and must(execute(watcher, left), left).cells:
        time.sleep(0.05)


def run_once(options):
    """Runs the case in a database of its own, and returns its steps with their answers."""
    watcher = connect(options)
    version = must(execute(watcher, "SELECT VERSION()"), "SELECT VERSION()")
    print("Server %s" % version.cells[0][0])
    make = "CREATE DATABASE " + DATABASE
    must(execute(watcher, make), make)
    clients = []
    try:
        maker = connect(options, DATABASE)
        for sql in CLIENTS[min(CLIENTS)] + SETUP:
            must(execute(maker, sql), sql)
        maker.close()
        for number, setup in CLIENTS.items():
            clients.append(Client(number, connect(options, DATABASE), setup))
        by_number = {client.number: client for client in clients}
        steps = [Step(*step) for step in STEPS]
        for step in steps:
            print("client %d> %s" % (step.client, step.sql))
            by_number[step.client].send(step)
            settle(clients, watcher)
            tell(steps)
        close(clients, watcher)
        reader = connect(options, DATABASE)
        for sql in CLIENTS[min(CLIENTS)]:
            must(execute(reader, sql), sql)
        return steps + at_last(reader)
    except Lost:
        watcher = None
        raise
    finally:
        if watcher:
            close(clients, watcher)
            execute(watcher, "DROP DATABASE " + DATABASE)
            watcher.close()


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--socket", help=SOCKET)
    parser.add_argument("--user", default=USER)
    parser.add_argument("--password", default="")
    parser.add_argument("--runs", type=int, default=RUNS, help="how often the case is run, at most")
    return parser.parse_args()
