import os

import openai
from forms import Family, Person
from run_checks import expect_error, run_checks, run_forms

BASE, KEY, AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT"))
completions = openai.OpenAI(base_url=f"{BASE}/openai", api_key=KEY).chat.completions


def request_of(content, **fields):
    return {"model": AGENT, "messages": [{"role": "user", "content": content}], **fields}


def parse(content, form=Person):
    return completions.parse(**request_of(content, response_format=form)).choices[0].message.parsed


def stream(content):
    with completions.stream(**request_of(content, response_format=Person)) as runner:
        return runner.get_final_completion().choices[0].message.parsed


def json_object(content):
    completion = completions.create(**request_of(content, response_format={"type": "json_object"}))
    return Person.model_validate_json(completion.choices[0].message.content)


def call(content, choice):
    tools = [openai.pydantic_function_tool(Person, name="answer")]
    completion = completions.parse(**request_of(content, tools=tools, tool_choice=choice))
    return completion.choices[0].message.tool_calls[0].function.parsed_arguments


named = {"type": "function", "function": {"name": "answer"}}
allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [named]}}


def family():
    assert parse("Family", Family).names == ["Ann"]


run_forms(
    {
        "parse": parse,
        "stream": stream,
        "json_object": json_object,
        "one tool": lambda content: call(content, named),
        "one tool, required": lambda content: call(content, "required"),
        "one tool, allowed": lambda content: call(content, allowed),
    },
    {
        "a family": family,
        "cut": lambda: expect_error(openai.LengthFinishReasonError, lambda: parse("Cut person")),
        "cut stream": lambda: expect_error(openai.LengthFinishReasonError, lambda: stream("Cut person")),
    },
)
