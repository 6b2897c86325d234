import json
import traceback


def run_checks(checks):
    """Runs the checks one after the other. Prints a line of JSON for each: its name, and its error or null."""
    for check, run in checks.items():
        error = None
        try:
            run()
        except Exception:
            error = traceback.format_exc()
        print(json.dumps({"check": check, "error": error}), flush=True)


def expect_error(kind, run):
    try:
        run()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def run_forms(modes, others={}):
    """Asks for a person in each mode, a function from a message to an object: the client returns one, and fails for a
    model that never says JSON, never says a person, or is cut. Then runs other checks."""

    def check_of(mode, ask):
        def check():
            person = ask("Person")
            assert (person.name, person.age) == ("Ann", 7), person
            for never in ("No JSON", "No person", "Cut person"):
                expect_error(Exception, lambda: ask(f"{never} ({mode})"))

        return check

    run_checks({**{mode: check_of(mode, ask) for mode, ask in modes.items()}, **others})
