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
