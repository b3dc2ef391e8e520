USER = "root"
SOCKET = "the server's socket, in place of host and port"
# The connections that have not ended yet.
LEFT = "SELECT id FROM information_schema.processlist WHERE id IN (%s)"


def connection_id(connection):
    return connection.thread_id()


def execute(connection, sql):
    """The answer of the server. It stays the text that the server sent."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if cursor.description is None:
                return Changed(cursor.rowcount)
            return Rows(list(cursor.fetchall()))
    except pymysql.err.Error as refused:
        code = refused.args[0] if refused.args else 0
        if code in (0, 2006, 2013):
            raise Lost("the server closed the connection: %s" % refused)
        return Error([code], refused.args[1])


def waits(watcher, client):
    """Whether the server says that a client waits for a row lock or a metadata lock."""
    # The server renews information_schema.innodb_trx only where it was left alone for 0.1 s.
    time.sleep(0.15)
    sql = WAITS % client.id
    return bool(must(execute(watcher, sql), sql).cells)


def connect(options, database=None):
    return pymysql.connect(
        host=options.host, port=options.port, unix_socket=options.socket, user=options.user,
        password=options.password, database=database, charset="utf8mb4", autocommit=True, conv={},
    )
