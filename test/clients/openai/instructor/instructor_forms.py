import os

import instructor
import openai
from forms import Adult, Person
from run_checks import run_forms

BASE, KEY, AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT"))


def client_of(*mode):
    return instructor.from_openai(openai.OpenAI(base_url=f"{BASE}/openai", api_key=KEY), *mode).chat.completions


def request_of(content, **fields):
    return {"model": AGENT, "messages": [{"role": "user", "content": content}], "response_model": Person, **fields}


def mode(*given):
    return lambda content: client_of(*given).create(**request_of(content))


def again(*given):
    """After a person that only the client rejects, it sends the call of the tool and what is wrong with it."""

    def check():
        assert client_of(*given).create(**request_of("Adult", response_model=Adult)).age == 19

    return check


def partial():
    assert list(client_of().create_partial(**request_of("Person")))[-1].age == 7


def iterable():
    assert [person.age for person in client_of().create_iterable(**request_of("People"))] == [7, 8]


run_forms(
    {
        "default": mode(),
        **{
            name: mode(instructor.Mode[name]) for name in ("JSON", "JSON_SCHEMA", "TOOLS_STRICT", "MD_JSON")
        },
    },
    {
        "a validator": again(),
        "a validator, JSON": again(instructor.Mode.JSON),
        "a validator, JSON_SCHEMA": again(instructor.Mode.JSON_SCHEMA),
        "create_partial": partial,
        "create_iterable": iterable,
    },
)
