import os

from forms import Person
from langchain_openai import ChatOpenAI
from run_checks import run_forms

BASE, KEY, AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT"))
model = ChatOpenAI(base_url=f"{BASE}/openai", api_key=KEY, model=AGENT)


def mode(**options):
    def ask(content):
        found = model.with_structured_output(Person, **options).invoke(content)
        # It does not look at the reason, so a cut call is None, and no error.
        if "method" in options and content.startswith("Cut"):
            assert found is not None
        return found

    return ask


def streamed(content):
    return list(model.with_structured_output(Person).stream(content))[-1]


run_forms(
    {
        "default": mode(),
        "default, streamed": streamed,
        "function_calling": mode(method="function_calling"),
        "function_calling, strict": mode(method="function_calling", strict=True),
        "json_mode": mode(method="json_mode"),
    }
)
