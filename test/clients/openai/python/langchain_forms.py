import os

from forms import Person
from langchain_openai import ChatOpenAI
from run_checks import run_forms

BASE, KEY, AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT"))
model = ChatOpenAI(base_url=f"{BASE}/openai", api_key=KEY, model=AGENT)


def mode(**options):
    return lambda content: model.with_structured_output(Person, **options).invoke(content)


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
