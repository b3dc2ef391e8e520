class Rows:
    """Rows, each cell as text or bytes, or None."""

    def __init__(self, cells, in_order=False):
        self.cells = cells
        self.in_order = in_order

    def meets(self, other):
        if not isinstance(other, Rows) or len(self.cells) != len(other.cells):
            return False
        if self.in_order:
            return all(map(same_row, self.cells, other.cells))
        left = list(other.cells)
        for row in self.cells:
            match = next((found for found in left if same_row(row, found)), None)
            if match is None:
                return False
            left.remove(match)
        return True

    def __str__(self):
        if not self.cells:
            return "an empty result"
        return " ".join("(" + ", ".join(map(shown, row)) + ")" for row in self.cells)


class Changed:
    """A number of changed rows."""

    def __init__(self, count):
        self.count = count

    def meets(self, other):
        return isinstance(other, Changed) and self.count == other.count

    def __str__(self):
        return "1 row changed" if self.count == 1 else "%d rows changed" % self.count


class Error:
    """An error of the server: its code, or the codes that mean the same; any without a code."""

    def __init__(self, codes, text):
        self.codes = codes
        self.text = text

    def meets(self, other):
        if not isinstance(other, Error):
            return False
        return not self.codes or any(code in self.codes for code in other.codes)

    def __str__(self):
        return "error %s (%s)" % (" or ".join(map(str, self.codes)), self.text)


class Accepted:
    """Any answer but an error."""

    def meets(self, other):
        return other is not None and not isinstance(other, Error)

    def __str__(self):
        return "no error"


class Waits:
    """The statement waits for a lock before it is answered, or it does not."""

    def __init__(self, waits):
        self.waits = waits

    def __str__(self):
        return "waits for a lock" if self.waits else "does not wait"


def rows(*cells):
    return Rows(list(cells))


def rows_in_order(*cells):
    return Rows(list(cells), in_order=True)


def changed(count):
    return Changed(count)


def error(text, *codes):
    return Error(list(codes), text)


def must(answer, sql):
    """Ends the script where a statement that prepares the case is refused."""
    if isinstance(answer, Error):
        print("%s\n%s" % (sql, answer), file=sys.stderr)
        sys.exit(2)
    return answer


def same_row(expected, found):
    return len(expected) == len(found) and all(map(same_cell, expected, found))


def same_cell(expected, found):
    if expected is None or found is None:
        return expected is found
    if isinstance(expected, (int, decimal.Decimal)):
        try:
            return decimal.Decimal(str(found)) == expected
        except decimal.InvalidOperation:
            return False
    as_bytes = lambda cell: cell if isinstance(cell, bytes) else str(cell).encode()
    return as_bytes(expected) == as_bytes(found)


def shown(cell):
    if cell is None:
        return "NULL"
    if isinstance(cell, bytes):
        return "x'" + cell.hex() + "'"
    try:
        decimal.Decimal(cell)
        return str(cell)
    except decimal.InvalidOperation:
        return "'" + cell.replace("'", "''") + "'"


class Lost(Exception):
    """The server closed a connection."""


class Hang(Exception):
    """A statement is not answered, and waits for no lock."""


class Step:
    """A statement of a client, with the answer that was seen and those that are right."""

    def __init__(self, client, sql, seen=None, right=(), decides=False):
        self.client = client
        self.sql = sql
        self.seen = seen
        self.right = right
        self.decides = decides
        self.answer = None
        self.waited = False
        self.told = None

    def is_wrong(self):
        if self.answer is None or self.is_not_known():
            return False
        waits = [right.waits == self.waited for right in self.right if isinstance(right, Waits)]
        answers = [right.meets(self.answer) for right in self.right if not isinstance(right, Waits)]
        return not all(waits) or (bool(answers) and not any(answers))

    def is_not_known(self):
        """Whether the server has no such statement, and that is not the bug."""
        answer = self.answer
        if not isinstance(answer, Error) or not any(code in NOT_KNOWN for code in answer.codes):
            return False
        known = ([self.seen] if self.seen is not None else []) + list(self.right)
        return not any(other.meets(answer) for other in known if not isinstance(other, Waits))

    def is_as_seen(self):
        return self.seen is None or (self.answer is not None and self.seen.meets(self.answer))

    def tell(self):
        """Prints what is new: that it waits, or its answer."""
        if self.answer is not None and self.told != "answer":
            goes_on = "client %d goes on: " % self.client if self.told else ""
            wrong = ""
            if self.is_wrong():
                wrong = "     <-- WRONG, expected: " + " or ".join(map(str, self.right))
            # Of BEGIN and the like there is nothing to tell.
            is_plain = isinstance(self.answer, Changed) and self.seen is None and not self.right
            print("          %s%s%s" % (goes_on, "ok" if is_plain else self.answer, wrong))
            self.told = "answer"
        elif self.waited and not self.told:
            print("          waits for a lock")
            self.told = "waits"
