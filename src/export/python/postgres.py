USER = "postgres"
SOCKET = "the folder of the server's socket, in place of host"
# The connections that have not ended yet.
LEFT = "SELECT pid FROM pg_stat_activity WHERE pid IN (%s)"

# Values stay the text that the server sent.
BYTEA = 17
AS_SENT = psycopg2.extensions.new_type(
    tuple(oid for oid in psycopg2.extensions.string_types if oid != BYTEA), "AS_SENT",
    lambda value, cursor: value,
)
AS_BYTES = psycopg2.extensions.new_type(
    (BYTEA,), "AS_BYTES",
    lambda value, cursor: None if value is None else bytes.fromhex(value[2:]),
)
psycopg2.extensions.register_type(AS_SENT)
psycopg2.extensions.register_type(AS_BYTES)


def connection_id(connection):
    return connection.info.backend_pid


def execute(connection, sql):
    """The answer of the server."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            if cursor.description is None:
                return Changed(max(cursor.rowcount, 0))
            return Rows(list(cursor.fetchall()))
    except psycopg2.Error as refused:
        if refused.pgcode is None or connection.closed:
            raise Lost("the server closed the connection: %s" % refused)
        return Error([refused.pgcode], refused.diag.message_primary)


def waits(watcher, client):
    """Whether the server says that a client waits for a lock."""
    sql = WAITS % client.id
    return bool(must(execute(watcher, sql), sql).cells)


def connect(options, database=None):
    connection = psycopg2.connect(
        host=options.socket or options.host, port=options.port, user=options.user,
        password=options.password, dbname=database or "postgres",
    )
    connection.autocommit = True
    return connection
