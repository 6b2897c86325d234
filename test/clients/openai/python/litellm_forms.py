import os

# Otherwise it asks for its list of prices at its maker's, and waits.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
from forms import Person
from run_checks import run_forms

BASE, KEY, AGENT = (os.environ[name] for name in ("BASE", "KEY", "AGENT"))
litellm.suppress_debug_info = True
named = {"type": "function", "function": {"name": "answer"}}


def complete(content, **fields):
    messages = [{"role": "user", "content": content}]
    completion = litellm.completion(
        model=f"openai/{AGENT}", api_base=f"{BASE}/openai", api_key=KEY, messages=messages, **fields
    )
    return completion.choices[0].message


def form(response_format):
    return lambda content: Person.model_validate_json(complete(content, response_format=response_format).content)


def streamed(content):
    messages = [{"role": "user", "content": content}]
    chunks = litellm.completion(
        model=f"openai/{AGENT}",
        api_base=f"{BASE}/openai",
        api_key=KEY,
        messages=messages,
        response_format=Person,
        stream=True,
    )
    return Person.model_validate_json("".join(chunk.choices[0].delta.content or "" for chunk in chunks))


def call(content):
    tool = {"type": "function", "function": {"name": "answer", "parameters": Person.model_json_schema()}}
    message = complete(content, tools=[tool], tool_choice=named)
    return Person.model_validate_json(message.tool_calls[0].function.arguments)


run_forms({"pydantic": form(Person), "streamed": streamed, "json_object": form({"type": "json_object"}), "one tool": call})
