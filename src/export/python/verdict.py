def tell(steps):
    for step in steps:
        step.tell()


def at_last(reader):
    """What the tables hold when every client has ended."""
    ends = [Step(0, *step) for step in AFTERWARDS]
    for step in ends:
        print("at last > " + step.sql)
        step.answer = execute(reader, step.sql)
        step.tell()
    reader.close()
    return ends


def bug_shows(steps):
    """Whether a run shows the bug, and why."""
    other = next((step for step in steps if step.decides and not step.is_as_seen()), None)
    if other:
        return False, "the bug needs client %d to get %s at %s" % (other.client, other.seen, other.sql)
    if SHOWS == "as seen":
        others = sum(not step.is_as_seen() for step in steps)
        if others == 0:
            return True, "every answer is the one that was seen when the bug was found"
        return False, "%d of the answers are others than when the bug was found" % others
    wrong = sum(step.is_wrong() for step in steps)
    if wrong:
        return True, "%d of the answers above %s wrong" % (wrong, "is" if wrong == 1 else "are")
    return False, "every answer is right"


def main():
    options = arguments()
    for number in range(1, options.runs + 1):
        if options.runs > 1:
            print("Run %d of at most %d" % (number, options.runs))
        try:
            steps = run_once(options)
            refused = next((step for step in steps if step.is_not_known()), None)
            if refused:
                print("\nNothing is proved: this server has no such statement: " + refused.sql)
                return 2
            shows, why = bug_shows(steps)
        except Lost as lost:
            shows, why = SHOWS == "crash", str(lost)
        except Hang as hang:
            shows, why = SHOWS == "hang", str(hang)
        if shows:
            print("\nTHE BUG SHOWS: %s." % why)
            return 1
    print("\nThe bug does not show: %s." % why)
    return 0


if __name__ == "__main__":
    sys.exit(main())
